import { html } from 'hono/html';
import { notes, showJson, showText, type TextNote } from '../../core/display';
import { isJsonArray, isJsonObject } from '../../core/json-value';
import type { JsonValue } from '../../core/json';
import type { Html } from './layout';
import { count, NOTE_TEXT } from './words';

/** An untrusted text in a line of the page: marked, isolated from the writing direction around it, never cut. */
export function given(text: string): Html {
  return html`<bdi class="given" dir="ltr">${showText(text)}</bdi>${warning([text])}`;
}

/** A name of ours or of the policy in a sentence: as safe as `given`, without its box. */
export function named(text: string): Html {
  return html`<bdi class="named" dir="ltr">${showText(text)}</bdi>${warning([text])}`;
}

/** An untrusted text with its lines, in a marked area of its own; no words of the page are ever inside. */
export function givenBlock(text: string): Html {
  return html`${lengthWarning(text)}${preformatted(showText(text, 'block'))}${warning([text])}`;
}

/** An untrusted JSON value in a marked area of its own. */
export function givenJson(value: JsonValue): Html {
  return html`${preformatted(showJson(value))}${warning(textsOf(value))}`;
}

/** An untrusted JSON value in a line of the page, as JSON writes it. */
export function givenLine(value: JsonValue): Html {
  return html`<bdi class="given" dir="ltr">${showJson(value, 'line')}</bdi>${warning(textsOf(value))}`;
}

/** A value as it reads best: a short text in the line, everything else in an area of its own. */
export function givenValue(value: JsonValue): Html {
  if (typeof value === 'string')
    return value.includes('\n') || value.length > LONGEST_IN_LINE ? givenBlock(value) : given(value);
  if (isJsonArray(value) || isJsonObject(value)) return givenJson(value);
  return givenLine(value);
}

const LONGEST_IN_LINE = 100;

/** The parser drops one newline right after the tag, so there is always one to drop. */
function preformatted(shown: string): Html {
  return html`<pre class="given" dir="ltr">${'\n'}${shown}</pre>`;
}

const LONGEST_READ = { lines: 25, characters: 2_000 } as const;

/** Stands before a text whose end is out of sight, so that nobody takes its beginning for all of it. */
function lengthWarning(text: string): Html | null {
  const lines = text.split('\n');
  if (lines.length <= LONGEST_READ.lines && text.length <= LONGEST_READ.characters) return null;
  const empty = lines.filter((line) => line.trim() === '').length;
  const blank = empty === 0 ? '' : `, ${empty} of them empty`;
  const size = `${text.length.toLocaleString('en-GB')} characters in ${count(lines.length, 'line')}${blank}`;
  return html`<p class="warning">Look closely: ${size}. Read to the end.</p>`;
}

/** What the texts hide, in words beside them; nothing where they hide nothing. */
export function warning(texts: readonly string[]): Html | null {
  const found = new Set<TextNote>(texts.flatMap(notes));
  if (found.size === 0) return null;
  return html` <span class="warning">Look closely: ${[...found].map((note) => NOTE_TEXT[note]).join('; ')}</span>`;
}

/** Every text of a value, names of members included. */
function textsOf(value: JsonValue): readonly string[] {
  if (typeof value === 'string') return [value];
  if (isJsonArray(value)) return value.flatMap(textsOf);
  if (isJsonObject(value)) return Object.entries(value).flatMap(([name, member]) => [name, ...textsOf(member)]);
  return [];
}
