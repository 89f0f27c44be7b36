import type { JsonObject } from '../../core/json';
import { FOOTER, type Line, type Notice } from './notice';
import type { Piece } from './piece';

/** The body for a webhook of a Teams workflow: an Adaptive Card. Runs of text are read as they are, without Markdown. */
export function teamsMessage({ headline, lines, link }: Notice): JsonObject {
  const actions = link === null ? [] : [{ type: 'Action.OpenUrl', title: link.text, url: link.url }];
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          msteams: { width: 'Full' },
          body: [
            richText([{ type: 'TextRun', text: headline, weight: 'Bolder', size: 'Medium' }]),
            ...lines.map(lineBlock),
            richText([{ type: 'TextRun', text: FOOTER, isSubtle: true, size: 'Small' }]),
          ],
          actions,
        },
      },
    ],
  };
}

function richText(inlines: readonly JsonObject[]): JsonObject {
  return { type: 'RichTextBlock', inlines };
}

function lineBlock({ label, text }: Line): JsonObject {
  const labels = [...label, { by: 'us', text: ': ' } as const];
  return richText([
    ...labels.map((piece) => ({ type: 'TextRun', text: piece.text, weight: 'Bolder' })),
    ...text.map(textRun),
  ]);
}

function textRun({ by, text }: Piece): JsonObject {
  return { type: 'TextRun', text, ...(by === 'them' && { fontType: 'Monospace' }) };
}
