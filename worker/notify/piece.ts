import { cut, showJson, showText } from '../../core/display';
import type { JsonValue } from '../../core/json';

/** A part of a notice: our own words, or what came from outside, made inert. Either is one line. */
export type Piece = { readonly by: 'us' | 'them'; readonly text: string };

export function us(text: string): Piece {
  return { by: 'us', text };
}

/** A name, in quotes where it could be read as words of ours. */
export function name(text: string): Piece {
  return them(/^[\w.:@/+|-]+$/.test(text) ? showText(text) : showJson(text, 'line'), LONGEST_NAME);
}

const LONGEST_NAME = 300;

/** A value as it is typed: a text is in quotes, so that nothing in it looks like what is around it. */
export function value(json: JsonValue, longest: number): Piece {
  return them(showJson(json, 'line'), longest);
}

/** What was made safe to show, so that no reader makes a link or a mention of it either. What is cut is said so. */
function them(shown: string, longest: number): Piece {
  const inert = unlinked(shown);
  if (inert.length <= longest) return { by: 'them', text: inert };
  // Inside the brackets of an escape half of it would be left.
  const kept = cut(inert, longest).replace(/⟦[^⟧]*$/u, '');
  return { by: 'them', text: `${kept}…⟦cut, ${inert.length} characters in all⟧` };
}

/** The text of pieces, for a channel that shows all alike. */
export function textOf(pieces: readonly Piece[]): string {
  return pieces.map(({ text }) => text).join('');
}

// In a literal a newline is `\n`: what follows it begins a word, though a letter stands before it.
const URL_COLON =
  /:(?=\/\/)|(?<=(?:\b|\\[nt])(?:mailto|tel|sms|sip|callto|javascript|vbscript|data|file|slack|msteams)):(?=\S)/giu;
const MENTION = /(?:(?<![\p{L}\p{N}])|(?<=\\[nt]))@(?=[\p{L}\p{N}])|<(?=[!@#])/gu;
const DOMAIN_DOT = /(?<=[\p{L}\p{N}_-])[.\u3002\uff0e\uff61](?=\p{L})/gu;
const SHARE = /\\(?=\\[\p{L}\p{N}])/gu;

function unlinked(shown: string): string {
  return shown.replace(URL_COLON, escapeOf).replace(MENTION, escapeOf);
}

/** For readers that make links of bare domains and of shares too, as programs for mail do. */
export function undotted(inert: string): string {
  return inert.replace(DOMAIN_DOT, escapeOf).replace(SHARE, escapeOf);
}

/** As `showText` escapes what hides: it can be read back. */
function escapeOf(char: string): string {
  return `⟦U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟧`;
}
