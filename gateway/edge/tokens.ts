import { timingSafeEqual } from 'node:crypto';
import { statSync } from 'node:fs';
import type { Requester } from '../../core/requester';
import type { Log } from '../../ledger/log';
import { readTokenFile } from './token-file';
import type { TokenFile } from './token-file';
import { isTokenForm, tokenDigest } from './token-form';

/** `unusable`: the file cannot be read, so nobody is let in by it. */
export type FoundToken =
  | { readonly kind: 'found'; readonly requester: Requester }
  | { readonly kind: 'wrong' }
  | { readonly kind: 'unusable' };

/** Whom a local token stands for, by the file as it is now. Never throws. */
export type TokenLookUp = (token: string) => FoundToken;

/** A file that was changed this shortly before it was read may change again under the same time stamp. */
const UNSETTLED_MS = 2_000;

interface Snapshot {
  /** What the file system says of the state that was read; null: read it again. */
  readonly mark: string | null;
  readonly file: TokenFile;
}

/**
 * Looks local tokens up in a file that is read again whenever it changed, so that a removed token ends at once. It is
 * asked of synchronously: that takes microseconds, and leaves no moment in which an old state could be believed.
 * @param nowMs epoch milliseconds, for the age of the file.
 */
export function createTokenLookUp(file: string, log: Log, nowMs: () => number = Date.now): TokenLookUp {
  let known: Snapshot = { mark: null, file: { ok: false, detail: '' } };
  return (token) => {
    const before = known.file;
    known = refreshed(file, known, nowMs());
    if (known.file !== before) report(log, { file, was: before, is: known.file });
    return known.file.ok ? find(known.file.tokens, token) : { kind: 'unusable' };
  };
}

type Records = Extract<TokenFile, { readonly ok: true }>['tokens'];

/** Compares with every hash, in constant time each, so that the time tells nothing of any of them. */
function find(tokens: Records, token: string): FoundToken {
  if (!isTokenForm(token)) return { kind: 'wrong' };
  const digest = tokenDigest(token);
  const [record] = tokens.filter(({ sha256 }) => timingSafeEqual(Buffer.from(sha256, 'hex'), digest));
  if (record === undefined) return { kind: 'wrong' };
  const { subject, agent, chain = [] } = record;
  return { kind: 'found', requester: { subject, agent, chain } };
}

function refreshed(file: string, known: Snapshot, nowMs: number): Snapshot {
  const mark = markOf(file, nowMs);
  if (mark !== null && mark === known.mark) return known;
  const read = readTokenFile(file);
  return { mark, file: isSame(read, known.file) ? known.file : read };
}

/** The state of a file as the file system knows it; null where it tells nothing, or too little yet. */
function markOf(file: string, nowMs: number): string | null {
  try {
    const { ino, size, mtimeNs, ctimeNs, mode } = statSync(file, { bigint: true });
    const isUnsettled = nowMs - Number(ctimeNs / 1_000_000n) < UNSETTLED_MS;
    return isUnsettled ? null : [ino, size, mtimeNs, ctimeNs, mode].join('.');
  } catch {
    return null;
  }
}

function isSame(one: TokenFile, other: TokenFile): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Once for each state, not for each request. */
function report(log: Log, { file, was, is }: { file: string; was: TokenFile; is: TokenFile }): void {
  if (!is.ok) log.error({ file, detail: is.detail }, 'gateway.tokens.unusable');
  else if (was.ok || was.detail !== '') log.info({ file, tokens: is.tokens.length }, 'gateway.tokens.changed');
}
