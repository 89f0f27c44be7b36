import { createHash } from 'node:crypto';
import { FOOTER, type Line, type Notice } from './notice';
import { textOf, undotted, type Piece } from './piece';

/** A mail as it is handed to the mail server. */
export interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly messageId: string;
  /** The thread of the operation. */
  readonly references: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Mailing {
  /** The event and the channel: the same on each try, so that a mail which arrives twice is one. */
  readonly key: string;
  readonly from: string;
  readonly to: readonly string[];
}

/** A notice as a mail of text and HTML. Programs for mail make links of what looks like one, so nothing may. */
export function mailOf(notice: Notice, { key, from, to }: Mailing): Mail {
  const domain = /@([^@<>]+)>?$/.exec(from)?.[1] ?? 'holdpoint.invalid';
  return {
    ...{ from, to },
    subject: subjectOf(notice),
    text: textPart(notice),
    html: htmlPart(notice),
    messageId: messageId(key, domain),
    references: messageId(notice.operationId, domain),
    // So that no absence reply comes back.
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
  };
}

function messageId(key: string, domain: string): string {
  return `<holdpoint.${createHash('sha256').update(key).digest('hex').slice(0, 40)}@${domain}>`;
}

const OWN_SUBJECT: readonly Notice['kind'][] = ['outcome', 'unknown', 'found', 'emergency', 'reviewDue'];

/** The same for all that people are told of a request: programs for mail keep only equal subjects in one thread. */
function subjectOf({ kind, headline, what, operationId }: Notice): string {
  const about = `${undotted(textOf(what))} (${operationId.slice(0, 11)})`;
  const isOwn = OWN_SUBJECT.includes(kind);
  const said = isOwn ? headline : 'Approval asked';
  return `${kind === 'opened' || isOwn ? '' : 'Re: '}${said}: ${about}`;
}

function textPart({ headline, lines, link }: Notice): string {
  const rows = lines.map(({ label, text }) => `${plain(label)}: ${plain(text)}`);
  const linked = link === null ? [] : ['', `${link.text}: ${link.url}`];
  return [headline, '', ...rows, ...linked, '', FOOTER, ''].join('\n');
}

function plain(pieces: readonly Piece[]): string {
  return pieces.map(({ by, text }) => (by === 'them' ? undotted(text) : text)).join('');
}

function htmlPart({ headline, lines, link }: Notice): string {
  const linked = link === null ? '' : `<p><a href="${escaped(link.url)}">${escaped(link.text)}</a></p>\n`;
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"></head>
<body>
<p><strong>${escaped(headline)}</strong></p>
<table>
${lines.map(row).join('\n')}
</table>
${linked}<p><small>${escaped(FOOTER)}</small></p>
</body>
</html>
`;
}

function row({ label, text }: Line): string {
  return `<tr><th align="left" valign="top">${markup(label)}</th><td>${markup(text)}</td></tr>`;
}

function markup(pieces: readonly Piece[]): string {
  return pieces
    .map(({ by, text }) => (by === 'them' ? `<code style="${WHOLE}">${escaped(undotted(text))}</code>` : escaped(text)))
    .join('');
}

/** Blanks count, and what is long is wrapped. */
const WHOLE = 'white-space:pre-wrap;word-break:break-word';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? '');
}
