import { JsonFault, assertSafeNumber, assertStorableText, nulFault } from './json-walk';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;
const FIRST_SURROGATE = 0xd800;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /true|false|null/y;
const BLANK = /[ \t\n\r]*/y;
const HEX4 = /^[0-9a-fA-F]{4}$/;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

/** A place in a JSON text that moves over one token at a time; what is not a token is a `JsonFault`. */
export class JsonTokens {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** The next character that is not blank, not yet taken; empty at the end. */
  peek(): string {
    if (this.text.charCodeAt(this.at) <= FIRST_PRINTABLE) this.match(BLANK);
    return this.text.charAt(this.at);
  }

  /** Takes `char` if it comes next. */
  next(char: string): boolean {
    if (this.peek() !== char) return false;
    this.at += 1;
    return true;
  }

  expect(char: string): void {
    if (!this.next(char)) throw this.syntax(`"${char}" must stand here`);
  }

  word(): boolean | null {
    const word = this.match(WORD);
    if (word === '') throw this.syntax('A value must stand here');
    return word === 'null' ? null : word === 'true';
  }

  number(): number {
    const start = this.at;
    const token = this.match(NUMBER);
    if (token === '') throw this.syntax('A value must stand here');
    const value = Number(token);
    assertSafeNumber(value, start);
    if (value === 0 && /^[^eE]*[1-9]/.test(token)) {
      throw new JsonFault('JSON_UNSAFE_NUMBER', 'A number so small is read as 0; send it as a string', start);
    }
    return value;
  }

  string(): string {
    if (this.text.charCodeAt(this.at) !== QUOTE) throw this.syntax('A name in double quotes must stand here');
    const { text } = this;
    const start = this.at;
    let at = start + 1;
    let from = at;
    let out = '';
    let unusual = false;
    for (;;) {
      const unit = text.charCodeAt(at);
      if (unit === QUOTE) break;
      if (unit === BACKSLASH) {
        out += text.slice(from, at) + this.escape(at);
        at += text[at + 1] === 'u' ? 6 : 2;
        from = at;
        unusual = true;
      } else if (unit >= FIRST_PRINTABLE) {
        unusual ||= unit >= FIRST_SURROGATE;
        at += 1;
      } else {
        throw this.brokenString(at);
      }
    }
    this.at = at + 1;
    out += text.slice(from, at);
    if (unusual) assertStorableText(out, start);
    return out;
  }

  syntax(rule: string): JsonFault {
    return new JsonFault('JSON_SYNTAX', rule, this.at);
  }

  private escape(at: number): string {
    const letter = this.text.charAt(at + 1);
    const hex = this.text.slice(at + 2, at + 6);
    if (letter === 'u' && HEX4.test(hex)) return String.fromCharCode(Number.parseInt(hex, 16));
    const escaped = ESCAPES.get(letter);
    if (escaped !== undefined) return escaped;
    this.at = at;
    throw this.syntax('An escape that JSON does not have');
  }

  private brokenString(at: number): JsonFault {
    this.at = at;
    if (at >= this.text.length) return this.syntax('The text ends inside a string');
    if (this.text[at] === '\0') return nulFault(at);
    return this.syntax('A control character in a string must be escaped');
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const token = pattern.exec(this.text)?.[0] ?? '';
    this.at += token.length;
    return token;
  }
}
