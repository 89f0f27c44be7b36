import {
  JsonFault,
  JsonWalk,
  addMember,
  assertAllowedName,
  assertSafeNumber,
  assertStorableText,
  judged,
  utf8Length,
} from './json-walk';
import { isPlainObject } from './json-value';
import type { JsonLimits, JsonResult, JsonValue } from './json-value';

/** Texts with one byte a character in JSON: most of them, and encoding each would be most of the time. */
const NOTHING_TO_ESCAPE = /^[ !#-[\]-~]*$/;

/**
 * Judges a value that somebody else has parsed already, by the rules of `parseStrictJson`, and returns a deep copy in
 * plain objects. What JSON would change or drop in silence is refused: undefined, functions, symbols, bigint, NaN,
 * numbers beyond ±(2^53-1), dates, maps, class instances, sparse arrays, accessors, hidden and symbol members, cycles
 * (too deep). `maxBytes` counts the canonical JSON text. `offset` is 0: there is no text.
 */
export function checkJsonValue(value: unknown, limits: JsonLimits = {}): JsonResult {
  const walk = new JsonWalk(limits);
  return judged(walk, () => new Copier(walk).copy(value));
}

class Copier {
  private readonly walk: JsonWalk;
  private left: number;

  constructor(walk: JsonWalk) {
    this.walk = walk;
    this.left = walk.maxBytes;
  }

  copy(value: unknown): JsonValue {
    switch (typeof value) {
      case 'string':
        return this.text(value);
      case 'number':
        return this.number(value);
      case 'boolean':
        this.spend(value ? 4 : 5);
        return value;
      case 'object':
        return this.container(value);
      case 'bigint':
        throw new JsonFault('JSON_UNSAFE_NUMBER', 'A bigint has no JSON form; send it as a string', 0);
      case 'undefined':
      case 'function':
      case 'symbol':
        throw noJsonForm(`${typeof value} has no JSON form; leave it out or send null`);
    }
  }

  private text(text: string): string {
    // A text that cannot fit is not written out first.
    if (text.length > this.left) throw this.walk.tooLarge();
    if (NOTHING_TO_ESCAPE.test(text)) {
      this.spend(text.length + 2);
      return text;
    }
    assertStorableText(text, 0);
    this.spend(utf8Length(JSON.stringify(text)));
    return text;
  }

  private number(value: number): number {
    assertSafeNumber(value, 0);
    this.spend(String(value).length);
    return value;
  }

  private container(value: object | null): JsonValue {
    if (value === null) {
      this.spend(4);
      return null;
    }
    this.walk.enter(0);
    this.spend(2);
    const copy = Array.isArray(value) ? this.array(value) : this.object(value);
    this.walk.leave();
    return copy;
  }

  private array(value: readonly unknown[]): JsonValue {
    // Before its keys are listed, each of which takes more memory than its byte of text.
    if (value.length > this.left) throw this.walk.tooLarge();
    const plain = Array.isArray(Object.getPrototypeOf(value)) && Reflect.ownKeys(value).length === value.length + 1;
    if (!plain) throw noJsonForm('Only a plain array without holes and other members has a JSON form');
    const items: JsonValue[] = [];
    for (let index = 0; index < value.length; index += 1) items.push(this.member(value, index, index > 0));
    return items;
  }

  private object(value: object): JsonValue {
    if (!isPlainObject(value)) throw noJsonForm('Only a plain object has a JSON form; send its data');
    const members: Record<string, JsonValue> = {};
    for (const [index, name] of Reflect.ownKeys(value).entries()) {
      if (typeof name === 'symbol') throw noJsonForm('A member named by a symbol has no JSON form');
      assertAllowedName(name, 0);
      this.text(name);
      this.spend(1);
      addMember(members, name, this.member(value, name, index > 0));
    }
    return members;
  }

  /** Reads by descriptor: an accessor is code of the sender, and may answer otherwise when it is read again. */
  private member(container: object, key: string | number, comma: boolean): JsonValue {
    this.walk.path.push(key);
    if (comma) this.spend(1);
    const descriptor = Object.getOwnPropertyDescriptor(container, key);
    if (descriptor?.enumerable !== true || !('value' in descriptor)) {
      throw noJsonForm('A hole, an accessor or a hidden member has no JSON form');
    }
    const copy = this.copy(descriptor.value);
    this.walk.path.pop();
    return copy;
  }

  private spend(bytes: number): void {
    this.left -= bytes;
    if (this.left >= 0) return;
    throw this.walk.tooLarge();
  }
}

function noJsonForm(rule: string): JsonFault {
  return new JsonFault('JSON_SYNTAX', rule, 0);
}
