import { isJsonArray, isJsonObject, isWellFormed } from './json-value';
import type { JsonArray, JsonObject, JsonValue } from './json-value';

/** `line` shows newline and tab as escapes, so that a text cannot fake a second line; `block` keeps these two. */
export type TextMode = 'line' | 'block';

declare const shown: unique symbol;

/** A text that was made safe to show. It is made so once: shown again, its own escapes would be escaped. */
export type Shown = string & { readonly [shown]: true };

/** What a reviewer is told about a text beside the text itself. */
export type TextNote = 'not NFC' | 'mixed scripts' | 'invisible' | 'bidi' | 'control';

/**
 * What is not shown as it is: controls, format and bidi characters, default ignorables (also Hangul fillers, variation
 * selectors, tags), private, unassigned and half characters, every blank but U+0020, characters drawn as nothing
 * (U+2800, U+FFFC, U+1D159, U+16FE4), and the two brackets of the escape itself.
 */
const HIDDEN = /(?! )[\p{C}\p{Default_Ignorable_Code_Point}\p{Z}\u2800\ufffc\u27e6\u27e7\u{1d159}\u{16fe4}]/gu;
const UNSTORABLE = /[\p{Cc}\p{Cs}]/gu;
const CONTROL = /\p{Cc}/u;
const BIDI = /\p{Bidi_Control}/u;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const NOTE_ORDER = ['not NFC', 'mixed scripts', 'invisible', 'bidi', 'control'] as const satisfies readonly TextNote[];

/** Alphabets with letters that look like a letter of another one. */
const LOOK_ALIKES = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Cherokee}/u,
  /\p{Script=Coptic}/u,
  /\p{Script=Lisu}/u,
];

/**
 * An untrusted text as people may see it: everything that hides, reorders or imitates becomes a visible escape such as
 * `⟦U+202E⟧`, and so do the brackets, so that two texts never look alike because of it and the text can be read back.
 * Nothing is cut. Which characters count as unassigned is up to the Unicode tables of the running Node.
 */
export function showText(text: string, mode: TextMode = 'line'): Shown {
  return text.replace(HIDDEN, (char) => (mode === 'block' && isLayout(char) ? char : escapeOf(char))) as Shown;
}

/** The first `length` UTF-16 units of a text, one less where the last would be half of a surrogate pair. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const kept = text.slice(0, length);
  return /[\ud800-\udbff]$/.test(kept) ? kept.slice(0, -1) : kept;
}

/**
 * A text of any length and content as every store and digest takes it: at most `length` UTF-16 units and `…` where it
 * was longer; half characters and controls other than newline and tab are escapes. Not yet safe to print: `showText`.
 */
export function storable(text: string, length: number): string {
  const whole = cut(text, length).replace(UNSTORABLE, (char) => (isLayout(char) ? char : escapeOf(char)));
  return whole.length > length || text.length > length ? `${cut(whole, length)}…` : whole;
}

/** A text for one line of a terminal or log: no control byte is left, so nothing moves the cursor or fakes a link. */
export function showTerminal(text: string): string {
  return showText(text, 'line');
}

/**
 * An untrusted text inside markdown: code spans, because neither CommonMark nor the Temporal UI reads anything in them
 * as heading, link, image, HTML or typography. Blanks that HTML would merge become U+00A0. `block` gives each line a
 * paragraph of its own. Put it after words of your own or on its own line, not into a table cell.
 */
export function showMarkdown(text: string, mode: TextMode = 'line'): string {
  const lines = mode === 'block' ? text.split('\n') : [text];
  if (lines.length === 1) return codeSpan(showText(text));
  return lines.map((line) => codeSpan(showText(line)) || codeSpan(escapeOf('\n'))).join('\n\n');
}

/**
 * A JSON value as text, members in their order: `block` gives each a line of its own. Names and strings are literals in
 * which newline, tab, quote and backslash are as JSON writes them, and all else as `showText` does, so that a string
 * never looks like the structure around it.
 */
export function showJson(value: JsonValue, mode: TextMode = 'block'): Shown {
  return (mode === 'block' ? jsonLines(value, '\n', '  ') : jsonLines(value, ' ', '')) as Shown;
}

/**
 * A text as a JSON string in which nothing hides or reorders: such characters are the `\u` escapes of JSON itself, so that
 * whoever shows it again escapes nothing twice.
 */
export function quotedText(text: string): string {
  return JSON.stringify(text).replace(HIDDEN, (char) =>
    Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );
}

/** A JSON value inside markdown, on one line: see `showMarkdown`. */
export function showJsonMarkdown(value: JsonValue): string {
  return codeSpan(showJson(value, 'line'));
}

/** Which warnings a text deserves, always in the same order; a plain newline or tab deserves none. */
export function notes(text: string): readonly TextNote[] {
  const found = new Set<TextNote>();
  if (text.normalize('NFC') !== text) found.add('not NFC');
  if ((text.match(WORD) ?? []).some(mixesAlphabets)) found.add('mixed scripts');
  for (const [char] of text.matchAll(HIDDEN)) {
    const note = noteOf(char);
    if (note !== undefined) found.add(note);
  }
  return NOTE_ORDER.filter((note) => found.has(note));
}

/** False where a text holds half a surrogate pair: nobody can see it as it is, so it may not be allowed. */
export function isShowable(text: string): boolean {
  return isWellFormed(text);
}

function isLayout(char: string): boolean {
  return char === '\n' || char === '\t';
}

function noteOf(char: string): TextNote | undefined {
  if (isLayout(char) || char === '⟦' || char === '⟧') return undefined;
  if (CONTROL.test(char)) return 'control';
  return BIDI.test(char) ? 'bidi' : 'invisible';
}

function mixesAlphabets(word: string): boolean {
  return LOOK_ALIKES.filter((alphabet) => alphabet.test(word)).length > 1;
}

function escapeOf(char: string): string {
  const point = Number(char.codePointAt(0));
  return `⟦U+${point.toString(16).toUpperCase().padStart(4, '0')}⟧`;
}

/** The fence is longer than any run inside; next to a backtick it needs a blank, which is not part of the code. */
function codeSpan(shown: string): string {
  if (shown === '') return '';
  const code = shown.replace(/^ | (?= |$)/g, '\u00a0');
  const runs = code.match(/`+/g);
  if (runs === null) return `\`${code}\``;
  const fence = '`'.repeat(Math.max(...runs.map((run) => run.length)) + 1);
  return `${fence} ${code} ${fence}`;
}

function jsonLines(value: JsonValue, newline: string, step: string): string {
  if (isJsonArray(value)) return arrayLines(value, newline, step);
  if (isJsonObject(value)) return objectLines(value, newline, step);
  return typeof value === 'string' ? literal(value) : JSON.stringify(value);
}

function arrayLines(items: JsonArray, newline: string, step: string): string {
  if (items.length === 0) return '[]';
  const inner = newline + step;
  return `[${inner}${items.map((item) => jsonLines(item, inner, step)).join(`,${inner}`)}${newline}]`;
}

function objectLines(value: JsonObject, newline: string, step: string): string {
  const members = Object.entries(value);
  if (members.length === 0) return '{}';
  const inner = newline + step;
  const lines = members.map(([name, member]) => `${literal(name)}: ${jsonLines(member, inner, step)}`);
  return `{${inner}${lines.join(`,${inner}`)}${newline}}`;
}

function literal(text: string): string {
  return `"${showText(text, 'block').replace(/["\\\n\t]/g, (char) => JSON.stringify(char).slice(1, -1))}"`;
}

/** Whether a text holds nothing that anybody could see. */
export function isBlank(text: string): boolean {
  return text.replace(/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu, '') === '';
}
