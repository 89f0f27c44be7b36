/** A place in a text, from `start` up to `end`, in UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A member of an object: from its name to the end of its value. */
export interface MemberSpan extends Span {
  /** Unescaped. */
  readonly name: string;
  readonly value: Span;
}

/** Puts `text` in the place of a span; an empty span is an insertion. */
export interface Edit extends Span {
  readonly text: string;
}

const BACKSLASH = 0x5c;
const BLANKS = /[ \t\n\r]*/y;
const WORD = /[^ \t\n\r,\]}]+/y;
const PLAIN = /[^"{}[\]]*/y;

/*
 * All of this is for texts that `JSON.parse` takes, and finds where things stand in them without reading them: upstreams
 * send numbers that no double keeps, names twice, and nestings of any depth, all of which has to stay as it is.
 */

/** The members of the object at `span`, each as often as it stands there; none where no object is there. */
export function membersOf(text: string, span: Span): readonly MemberSpan[] {
  if (text[span.start] !== '{') return [];
  const members: MemberSpan[] = [];
  let at = skip(BLANKS, text, span.start + 1);
  while (text[at] === '"') {
    const start = at;
    const nameEnd = stringEnd(text, start);
    const name: unknown = JSON.parse(text.slice(start, nameEnd));
    const valueStart = skip(BLANKS, text, skip(BLANKS, text, nameEnd) + 1);
    const value = valueAt(text, valueStart);
    members.push({ name: String(name), start, end: value.end, value });
    at = afterComma(text, value.end);
  }
  return members;
}

/** The items of the array at `span`; none where no array is there. */
export function itemsOf(text: string, span: Span): readonly Span[] {
  if (text[span.start] !== '[') return [];
  const items: Span[] = [];
  let at = skip(BLANKS, text, span.start + 1);
  while (at < text.length && text[at] !== ']') {
    const item = valueAt(text, at);
    items.push(item);
    at = afterComma(text, item.end);
  }
  return items;
}

/** The whole value of a text. */
export function rootOf(text: string): Span {
  return valueAt(text, skip(BLANKS, text, 0));
}

/** The member of that name which a reader such as `JSON.parse` takes: the last one. */
export function lastMember(members: readonly MemberSpan[], name: string): MemberSpan | undefined {
  return members.findLast((member) => member.name === name);
}

/** Edits that take some parts of an object or array away, with their commas. */
export function withoutParts<Part extends Span>(parts: readonly Part[], isGone: (part: Part) => boolean): Edit[] {
  const edits: Edit[] = [];
  let anyKept = false;
  for (const [index, part] of parts.entries()) {
    if (!isGone(part)) anyKept = true;
    // Behind a part that stays, the comma before goes along; in front of all that stay, the comma behind.
    else if (anyKept) edits.push({ start: parts[index - 1]?.end ?? part.start, end: part.end, text: '' });
    else edits.push({ start: part.start, end: parts[index + 1]?.start ?? part.end, text: '' });
  }
  return edits;
}

/** The text after all edits, which may not overlap; whatever lies between them is kept to the byte. */
export function edited(text: string, edits: readonly Edit[]): string {
  let out = '';
  let from = 0;
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    out += text.slice(from, edit.start) + edit.text;
    from = edit.end;
  }
  return out + text.slice(from);
}

function valueAt(text: string, start: number): Span {
  const first = text[start];
  if (first === '"') return { start, end: stringEnd(text, start) };
  return { start, end: first === '{' || first === '[' ? containerEnd(text, start) : skip(WORD, text, start) };
}

/** Counts brackets instead of calling itself: a text may be nested deeper than any stack. */
function containerEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const char = text[at];
    if (char === '"') at = stringEnd(text, at);
    else {
      depth += char === '{' || char === '[' ? 1 : -1;
      at += 1;
      if (depth === 0) return at;
    }
    at = skip(PLAIN, text, at);
  }
  return at;
}

/** By its quotes and not by its characters: a text may have megabytes. */
function stringEnd(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return text.length;
}

function afterComma(text: string, at: number): number {
  const next = skip(BLANKS, text, at);
  return text[next] === ',' ? skip(BLANKS, text, next + 1) : next;
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : text.length;
}
