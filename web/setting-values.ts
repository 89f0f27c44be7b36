import { isLoopback, readHostName } from './host-names';

/** One setting that was read, or what is wrong with it: one sentence, without the value of a secret. */
export type Read<T> = { readonly problem: string } | { readonly value: T };

/** Reads one setting; its problem is kept in `problems`. Null where it is not set. */
export class SettingReader {
  readonly problems: string[] = [];
  private readonly env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv) {
    this.env = env;
  }

  /** An empty text is no setting: a compose file passes one for what nobody set. */
  text(name: string): string | null {
    const text = this.env[name]?.trim() ?? '';
    return text === '' ? null : text;
  }

  read<T>(name: string, parse: (name: string, text: string) => Read<T>): T | null {
    const text = this.text(name);
    if (text === null) return null;
    const read = parse(name, text);
    if ('value' in read) return read.value;
    this.problems.push(read.problem);
    return null;
  }

  number(name: string, rule: NumberRule): number {
    const { what, min, max, whole = true } = rule;
    const parse = (_name: string, text: string): Read<number> => {
      const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
      const taken = value >= min && value <= max && (!whole || Number.isInteger(value));
      return taken ? { value } : { problem: `${name} is ${what}, ${min} to ${max}, not ${JSON.stringify(text)}` };
    };
    return this.read(name, parse) ?? rule.instead;
  }

  list(name: string, parse: (name: string, text: string) => Read<string>): readonly string[] {
    const parts = this.text(name)?.split(/[\s,]+/) ?? [];
    return parts.filter((part) => part !== '').flatMap((part) => this.kept(parse(name, part)));
  }

  private kept(read: Read<string>): string[] {
    if ('value' in read) return [read.value];
    this.problems.push(read.problem);
    return [];
  }
}

export interface NumberRule {
  readonly what: string;
  readonly min: number;
  readonly max: number;
  readonly instead: number;
  readonly whole?: boolean;
}

/** The origin of a web address that has nothing after it. */
export function readOriginUrl(name: string, text: string): Read<string> {
  const url = webUrl(text);
  if (url !== null && url.pathname === '/' && !/[?#]/.test(text)) return { value: url.origin };
  return { problem: `${name} is an address without path, user and password, such as https://holdpoint.example` };
}

/**
 * An address that decides whom a server lets in: over plain HTTP somebody on the way could put in keys of their
 * own, so it has to be https but on this machine.
 */
export function readTrustedUrl(name: string, text: string): Read<string> {
  const url = webUrl(text);
  const isSafe = url?.protocol === 'https:' || (url !== null && isLoopback(url.hostname));
  if (isSafe && !text.includes('#')) return { value: text };
  return { problem: `${name} is an https address without user and password (http only on a loopback address)` };
}

/** One host, `name` or `name:port`. */
export function readHost(name: string, text: string): Read<string> {
  if (readHostName(text) !== null) return { value: text.toLowerCase() };
  return { problem: `${name} lists hosts as name or name:port, without pattern and path, not ${JSON.stringify(text)}` };
}

/** One origin as a browser sends it. */
export function readOrigin(name: string, text: string): Read<string> {
  const url = webUrl(text);
  if (url !== null) {
    if (url.pathname === '/' && !/[?#]/.test(text)) return { value: url.origin };
  } else if (/^(?!https?:)[a-z][a-z0-9+.-]*:\/\/[a-z0-9._-]+$/i.test(text)) {
    // Such as vscode-webview://…: what is not http has no origin for URL.
    return { value: text.toLowerCase() };
  }
  return { problem: `${name} lists origins such as https://app.example, without pattern and path: one is not` };
}

/** One scope (RFC 6749, section 3.3). */
export function readScope(name: string, text: string): Read<string> {
  if (/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text)) return { value: text };
  return { problem: `${name} holds a scope with a character that no scope may have: ${JSON.stringify(text)}` };
}

function webUrl(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === '' ? url : null;
}
