import type { JsonObject } from '../../core/json';
import { FOOTER, type Line, type Notice } from './notice';
import { textOf, undotted, type Piece } from './piece';

/** The body for a Slack incoming webhook. Blocks of rich text are read as they are: nothing in them is markup. */
export function slackMessage(notice: Notice): JsonObject {
  const { headline, lines, link } = notice;
  return {
    text: fallback(notice),
    mrkdwn: false,
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: headline, emoji: false } },
      {
        type: 'rich_text',
        elements: [
          { type: 'rich_text_list', style: 'bullet', elements: lines.map(lineElement) },
          ...(link === null ? [] : [section([{ type: 'link', url: link.url, text: link.text }])]),
        ],
      },
      { type: 'context', elements: [{ type: 'plain_text', text: FOOTER, emoji: false }] },
    ],
  };
}

/** What a phone shows of it. This one Slack reads as markup, of which `&`, `<` and `>` are the only way to a mention. */
function fallback({ headline, what, who }: Notice): string {
  const text = undotted(`${headline}: ${textOf(what)}, asked by ${textOf(who)}`);
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function section(elements: readonly JsonObject[]): JsonObject {
  return { type: 'rich_text_section', elements };
}

function lineElement({ label, text }: Line): JsonObject {
  return section([...label.map(labelElement), ...text.map(textElement)]);
}

const BOLD = { bold: true } as const;
const CODE = { code: true } as const;

function labelElement({ text }: Piece, index: number, all: readonly Piece[]): JsonObject {
  const isLast = index === all.length - 1;
  return { type: 'text', text: isLast ? `${text}: ` : text, style: BOLD };
}

function textElement({ by, text }: Piece): JsonObject {
  return { type: 'text', text, ...(by === 'them' && { style: CODE }) };
}
