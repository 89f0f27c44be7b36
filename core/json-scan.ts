import { JsonTokens } from './json-tokens';
import { JsonFault, JsonWalk, addMember, assertAllowedName, judged } from './json-walk';
import type { JsonLimits, JsonResult, JsonValue } from './json-value';

/**
 * Reads JSON (RFC 8259) that every reader understands alike, and refuses the rest on the raw text, before anything is
 * lost to a parser: a name twice in one object (compared unescaped), a number beyond ±(2^53-1) however it is spelt
 * (also `1e400` and `9007199254740993.0`), a number other than zero that would be read as zero (`1e-400`), half a
 * surrogate pair, U+0000, the name `__proto__`, more depth than `maxDepth` (64; 512 at most), more UTF-8 bytes than
 * `maxBytes` (262144). A fraction such as `0.1` is taken as the nearest IEEE double, which every reader finds alike.
 * What is accepted equals `JSON.parse(text)`, in plain objects.
 */
export function parseStrictJson(text: string, limits: JsonLimits = {}): JsonResult {
  const walk = new JsonWalk(limits);
  return judged(walk, () => {
    walk.assertSize(text);
    return new Scanner(text, walk).document();
  });
}

class Scanner {
  private readonly tokens: JsonTokens;
  private readonly walk: JsonWalk;

  constructor(text: string, walk: JsonWalk) {
    this.tokens = new JsonTokens(text);
    this.walk = walk;
  }

  document(): JsonValue {
    const value = this.value();
    if (this.tokens.peek() !== '') throw this.tokens.syntax('Text follows the end of the value');
    return value;
  }

  private value(): JsonValue {
    switch (this.tokens.peek()) {
      case '{':
        return this.object();
      case '[':
        return this.array();
      case '"':
        return this.tokens.string();
      case 't':
      case 'f':
      case 'n':
        return this.tokens.word();
      default:
        return this.tokens.number();
    }
  }

  private object(): JsonValue {
    this.walk.enter(this.tokens.at);
    this.tokens.expect('{');
    const members: Record<string, JsonValue> = {};
    if (!this.tokens.next('}')) {
      do this.member(members);
      while (this.tokens.next(','));
      this.tokens.expect('}');
    }
    this.walk.leave();
    return members;
  }

  private member(members: Record<string, JsonValue>): void {
    this.tokens.peek();
    const start = this.tokens.at;
    const name = this.tokens.string();
    assertAllowedName(name, start);
    this.walk.path.push(name);
    if (Object.hasOwn(members, name)) {
      throw new JsonFault('JSON_DUPLICATE_NAME', 'A name occurs twice in one object; send it once', start);
    }
    this.tokens.expect(':');
    addMember(members, name, this.value());
    this.walk.path.pop();
  }

  private array(): JsonValue {
    this.walk.enter(this.tokens.at);
    this.tokens.expect('[');
    const items: JsonValue[] = [];
    if (!this.tokens.next(']')) {
      do {
        this.walk.path.push(items.length);
        items.push(this.value());
        this.walk.path.pop();
      } while (this.tokens.next(','));
      this.tokens.expect(']');
    }
    this.walk.leave();
    return items;
  }
}
