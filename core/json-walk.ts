import { showText } from './display';
import { MAX_JSON_BYTES, MAX_JSON_DEPTH, isWellFormed } from './json-value';
import type { JsonLimits, JsonRefusalCode, JsonResult, JsonValue } from './json-value';

/** Readers and writers of a value call themselves once a level, so no limit of a caller may pass this one. */
const DEEPEST = 512;
const LONGEST_PLACE = 200;

/** The way out of nested containers; it never leaves `judged`. */
export class JsonFault extends Error {
  readonly code: JsonRefusalCode;
  readonly offset: number;

  constructor(code: JsonRefusalCode, rule: string, offset: number) {
    super(rule);
    this.code = code;
    this.offset = offset;
  }
}

/** Where a reader stands in a value, and the rules that hold for a text and for a value alike. */
export class JsonWalk {
  readonly maxBytes: number;
  readonly path: (string | number)[] = [];
  private readonly maxDepth: number;
  private depth = 0;

  constructor(limits: JsonLimits) {
    this.maxBytes = limits.maxBytes ?? MAX_JSON_BYTES;
    this.maxDepth = Math.min(limits.maxDepth ?? MAX_JSON_DEPTH, DEEPEST);
  }

  enter(offset: number): void {
    this.depth += 1;
    if (this.depth <= this.maxDepth) return;
    throw new JsonFault(
      'JSON_TOO_DEEP',
      `More than ${this.maxDepth} containers inside each other; send flatter data`,
      offset,
    );
  }

  leave(): void {
    this.depth -= 1;
  }

  /** UTF-16 units are compared first: a text that cannot fit is not encoded. */
  assertSize(text: string): void {
    if (text.length <= this.maxBytes && utf8Length(text) <= this.maxBytes) return;
    throw this.tooLarge();
  }

  tooLarge(): JsonFault {
    return new JsonFault('JSON_TOO_LARGE', `More than ${this.maxBytes} bytes of JSON; send less`, 0);
  }
}

/** Runs a reader, and turns the rule that it found broken into a refusal that names the place. */
export function judged(walk: JsonWalk, read: () => JsonValue): JsonResult {
  try {
    return { ok: true, value: read() };
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const detail = `${error.message} (at ${placeOf(walk.path)})`;
    return { ok: false, code: error.code, detail, offset: error.offset };
  }
}

function placeOf(path: readonly (string | number)[]): string {
  if (path.length === 0) return 'the top';
  const tokens = path.map((token) => String(token).replaceAll('~', '~0').replaceAll('/', '~1'));
  const pointer = `/${tokens.join('/')}`;
  return showText(pointer.slice(0, LONGEST_PLACE)) + (pointer.length > LONGEST_PLACE ? '…' : '');
}

/**
 * Refuses what readers of a JSON number do not agree on: any magnitude beyond 2^53-1, in whatever spelling, and
 * infinity. Below it a fraction is the nearest IEEE double, which every reader finds alike.
 */
export function assertSafeNumber(value: number, offset: number): void {
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return;
  const rule = 'A number beyond ±9007199254740991 is not kept exactly by every reader; send it as a string';
  throw new JsonFault('JSON_UNSAFE_NUMBER', rule, offset);
}

/** Refuses texts that one store or digest would change: with U+0000, or with half a surrogate pair. */
export function assertStorableText(text: string, offset: number): void {
  if (text.includes('\0')) throw nulFault(offset);
  if (isWellFormed(text)) return;
  throw new JsonFault('JSON_LONE_SURROGATE', 'A text holds half a surrogate pair; send whole characters', offset);
}

/** The fault of U+0000, escaped or raw. */
export function nulFault(offset: number): JsonFault {
  return new JsonFault('JSON_NUL', 'A text holds U+0000; remove it or send it encoded', offset);
}

/** Bytes of a text in UTF-8. */
export function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Adds a member that is not there yet, under that very name. */
export function addMember(target: Record<string, JsonValue>, name: string, value: JsonValue): void {
  // A name of Object.prototype cannot be assigned where the sandbox has frozen it, so it is defined.
  if (name in target) {
    Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
  } else target[name] = value;
}

/** Refuses the one name that assignments elsewhere would turn into a prototype. */
export function assertAllowedName(name: string, offset: number): void {
  if (name !== '__proto__') return;
  throw new JsonFault('JSON_FORBIDDEN_NAME', 'The name "__proto__" is not allowed; use another name', offset);
}
