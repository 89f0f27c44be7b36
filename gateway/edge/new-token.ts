import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { Requester } from '../../core/requester';
import { reasonOf } from '../../ledger/ledger-error';
import { isPrincipal, MAX_CHAIN } from './principal';
import { readTokenFile } from './token-file';
import type { TokenRecord } from './token-file';
import { makeToken, tokenDigest } from './token-form';

/** Whom a token stands for; no chain where it is left out. */
export type TokenHolder = Pick<Requester, 'subject' | 'agent'> & Partial<Pick<Requester, 'chain'>>;

/** `token` is the secret: it is in no file, and cannot be shown again. */
export type NewToken =
  { readonly ok: true; readonly id: string; readonly token: string } | { readonly ok: false; readonly detail: string };

export type RevokedToken = { readonly ok: true } | { readonly ok: false; readonly detail: string };

/**
 * Makes a local token and adds its hash to the file, which is made where there is none. A file that cannot be read is
 * never replaced. A gateway that runs knows the token at its next request.
 */
export function newToken(file: string, { subject, agent, chain }: TokenHolder, nowMs: number = Date.now()): NewToken {
  if (![subject, agent, ...(chain ?? [])].every(isPrincipal) || (chain ?? []).length > MAX_CHAIN) {
    return { ok: false, detail: 'subject, agent and links of the chain are names of 1 to 200 visible characters' };
  }
  const id = `tok_${randomBytes(6).toString('hex')}`;
  const token = makeToken();
  const sha256 = tokenDigest(token).toString('hex');
  const added = { id, sha256, subject, agent, ...(chain === undefined ? {} : { chain }), createdAtMs: nowMs };
  const changed = change(file, (tokens) => [...tokens, added]);
  return changed.ok ? { ok: true, id, token } : changed;
}

/** Removes a token from the file: the next request with it is refused. */
export function revokeToken(file: string, id: string): RevokedToken {
  if (!existsSync(file)) return { ok: false, detail: `${file} is not there` };
  return change(file, (tokens) => {
    const kept = tokens.filter((token) => token.id !== id);
    return kept.length < tokens.length ? kept : `${file} holds no token ${JSON.stringify(id)}`;
  });
}

type Change = (tokens: readonly TokenRecord[]) => readonly TokenRecord[] | string;

/**
 * Replaces the file whole. The new one is also the lock: of two writers at once the second is refused, so that neither
 * loses a token of the other nor brings back one that was revoked.
 */
function change(file: string, edit: Change): RevokedToken {
  const next = `${file}.new`;
  const handle = lock(next);
  if (typeof handle === 'string') return { ok: false, detail: handle };
  let isPlaced = false;
  try {
    const tokens = edited(file, edit);
    if (typeof tokens === 'string') return { ok: false, detail: tokens };
    writeFileSync(handle, `${JSON.stringify({ v: 1, tokens }, null, 2)}\n`);
    fsyncSync(handle);
    renameSync(next, file);
    isPlaced = true;
    return { ok: true };
  } catch (error) {
    return { ok: false, detail: `${file}: ${reasonOf(error)}` };
  } finally {
    closeSync(handle);
    // Once it was renamed, a file of this name is another writer's.
    if (!isPlaced) rmSync(next, { force: true });
  }
}

function lock(next: string): number | string {
  try {
    return openSync(next, 'wx', 0o600);
  } catch (error) {
    if (!existsSync(next)) return `${next} cannot be written: ${reasonOf(error)}`;
    return `${next} is there: another process changes the tokens; remove it if none does`;
  }
}

function edited(file: string, edit: Change): ReturnType<Change> {
  if (!existsSync(file)) return edit([]);
  const read = readTokenFile(file);
  return read.ok ? edit(read.tokens) : `${file}: ${read.detail}`;
}
