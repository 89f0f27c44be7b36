import { z } from 'zod';

/** What the documents of Slack, Teams and PagerDuty say of a body; whatever else is in one is refused. */
const plainText = (longest: number) =>
  z.strictObject({ type: z.literal('plain_text'), text: z.string().min(1).max(longest), emoji: z.boolean() });

const style = z.strictObject({ bold: z.boolean().optional(), code: z.boolean().optional() });

const richSection = z.strictObject({
  type: z.literal('rich_text_section'),
  elements: z
    .array(
      z.union([
        z.strictObject({ type: z.literal('text'), text: z.string().min(1), style: style.optional() }),
        z.strictObject({ type: z.literal('link'), url: z.url(), text: z.string().min(1) }),
      ]),
    )
    .min(1),
});

/** An incoming webhook's message with blocks. */
export const slackShape = z.strictObject({
  text: z.string().min(1).max(40_000),
  mrkdwn: z.boolean(),
  unfurl_links: z.boolean(),
  unfurl_media: z.boolean(),
  blocks: z
    .array(
      z.discriminatedUnion('type', [
        z.strictObject({ type: z.literal('header'), text: plainText(150) }),
        z.strictObject({
          type: z.literal('rich_text'),
          elements: z.array(
            z.union([
              richSection,
              z.strictObject({
                type: z.literal('rich_text_list'),
                style: z.enum(['bullet', 'ordered']),
                elements: z.array(richSection).min(1),
              }),
            ]),
          ),
        }),
        z.strictObject({ type: z.literal('context'), elements: z.array(plainText(3_000)).min(1).max(10) }),
      ]),
    )
    .min(1)
    .max(50),
});

const textRun = z.strictObject({
  type: z.literal('TextRun'),
  text: z.string().min(1),
  weight: z.enum(['Default', 'Lighter', 'Bolder']).optional(),
  size: z.enum(['Default', 'Small', 'Medium', 'Large', 'ExtraLarge']).optional(),
  fontType: z.enum(['Default', 'Monospace']).optional(),
  isSubtle: z.boolean().optional(),
});

/** What a Teams workflow for webhooks takes: one message with one Adaptive Card. */
export const teamsShape = z.strictObject({
  type: z.literal('message'),
  attachments: z.tuple([
    z.strictObject({
      contentType: z.literal('application/vnd.microsoft.card.adaptive'),
      contentUrl: z.null(),
      content: z.strictObject({
        $schema: z.literal('http://adaptivecards.io/schemas/adaptive-card.json'),
        type: z.literal('AdaptiveCard'),
        version: z.literal('1.4'),
        msteams: z.strictObject({ width: z.literal('Full') }),
        body: z.array(z.strictObject({ type: z.literal('RichTextBlock'), inlines: z.array(textRun).min(1) })).min(1),
        actions: z.array(z.strictObject({ type: z.literal('Action.OpenUrl'), title: z.string().min(1), url: z.url() })),
      }),
    }),
  ]),
});

const key = { routing_key: z.string().length(32), dedup_key: z.string().min(1).max(255) };

/** An event of the PagerDuty Events API v2. */
export const pagerShape = z.discriminatedUnion('event_action', [
  z.strictObject({ ...key, event_action: z.literal('resolve') }),
  z.strictObject({
    ...key,
    event_action: z.literal('trigger'),
    client: z.string().optional(),
    client_url: z.url().optional(),
    links: z.array(z.strictObject({ href: z.url(), text: z.string().optional() })).optional(),
    payload: z.strictObject({
      summary: z.string().min(1).max(1_024),
      severity: z.enum(['critical', 'error', 'warning', 'info']),
      source: z.string().min(1),
      component: z.string().optional(),
      class: z.string().optional(),
      custom_details: z.record(z.string(), z.string()).optional(),
    }),
  }),
]);
