const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BLANK = /[ \t\r\n]*/y;
/** What ends a number or a word. */
const PRIMITIVE = /[^ \t\r\n,\]}]*/y;
const STRUCTURE = /["[\]{}]/g;

/** Where a value stands in a text: from `start` up to, not including, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Where the value of a member of the outermost object stands in a JSON text, without reading it: so an id can be
 * replaced or repeated and everything else stays what it was. Of a name that occurs twice the last counts, as for
 * `JSON.parse`. Undefined where there is none. The text must be JSON; of another one the answer means nothing.
 */
export function memberSpan(text: string, name: string): Span | undefined {
  let at = skipBlank(text, 0);
  if (text[at] !== '{') return undefined;
  at = skipBlank(text, at + 1);
  let found: Span | undefined;
  while (text.charCodeAt(at) === QUOTE) {
    const nameEnd = stringEnd(text, at);
    const isIt = nameOf(text.slice(at, nameEnd)) === name;
    const start = skipBlank(text, skipBlank(text, nameEnd) + 1);
    const end = valueEnd(text, start);
    if (isIt) found = { start, end };
    at = skipBlank(text, skipBlank(text, end) + 1);
  }
  return found;
}

/** The same of a member of a member, by their names from the outside in. */
export function spanAt(text: string, path: readonly string[]): Span | undefined {
  let found: Span = { start: 0, end: text.length };
  for (const name of path) {
    const inside = memberSpan(text.slice(found.start, found.end), name);
    if (inside === undefined) return undefined;
    found = { start: found.start + inside.start, end: found.start + inside.end };
  }
  return found;
}

/** A text in which the value at a path is another one; the same text where there is none. */
export function withValueAt(text: string, path: readonly string[], value: string): string {
  const span = spanAt(text, path);
  return span === undefined ? text : text.slice(0, span.start) + value + text.slice(span.end);
}

/** The id of a message as it is written in its text; `null` where it has none. */
export function idText(text: string): string {
  const span = memberSpan(text, 'id');
  return span === undefined ? 'null' : text.slice(span.start, span.end);
}

function nameOf(literal: string): string {
  if (!literal.includes('\\')) return literal.slice(1, -1);
  const name: unknown = JSON.parse(literal);
  return String(name);
}

function skipBlank(text: string, at: number): number {
  return at + match(BLANK, text, at).length;
}

function valueEnd(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return stringEnd(text, start);
  if (first === '{' || first === '[') return containerEnd(text, start);
  return start + match(PRIMITIVE, text, start).length;
}

function containerEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  for (;;) {
    STRUCTURE.lastIndex = at;
    const next = STRUCTURE.exec(text);
    if (next === null) return text.length;
    at = next.index;
    if (next[0] === '"') {
      at = stringEnd(text, at);
      continue;
    }
    at += 1;
    depth += next[0] === '{' || next[0] === '[' ? 1 : -1;
    if (depth === 0) return at;
  }
}

/** A loop and not one pattern: a text of megabytes would exhaust the stack of the regular expression. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote === -1) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

function match(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
}
