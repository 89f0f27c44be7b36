import { createPrivateKey } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';

/** `detail` is one sentence part, without the path and without any byte of the file. */
export type KeyFile<T> = { readonly ok: true; readonly key: T } | { readonly ok: false; readonly detail: string };

/** 32 bytes are 43 characters of base64url, of which the last has two bits that must be zero. */
const SEAL_KEY = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;

/** Reads the 32 random bytes, in base64url, that everything the console seals hangs on. Never throws. */
export function readSealKey(file: string): KeyFile<Uint8Array> {
  const read = readOwnFile(file);
  if (!read.ok) return read;
  const text = read.key.trim();
  if (SEAL_KEY.test(text)) return { ok: true, key: Buffer.from(text, 'base64url') };
  return { ok: false, detail: 'it does not hold 32 bytes in base64url, which are 43 characters, and nothing else' };
}

/** Reads the private key (PEM, Ed25519) by which the console signs decisions of people. Never throws. */
export function readSigningKey(file: string): KeyFile<string> {
  const read = readOwnFile(file);
  if (!read.ok || isEd25519(read.key)) return read;
  return { ok: false, detail: 'it holds no private Ed25519 key in PEM' };
}

/** 32 characters of which none has to be escaped anywhere, at the least: as long as a key of 24 bytes. */
const SCRAPE_TOKEN = /^[A-Za-z0-9._~+/-]{32,256}=*$/;

/** Reads the token by which a scraper reads the metrics. Never throws. */
export function readScrapeToken(file: string): KeyFile<string> {
  const read = readOwnFile(file);
  if (!read.ok) return read;
  const text = read.key.trim();
  if (SCRAPE_TOKEN.test(text)) return { ok: true, key: text };
  return { ok: false, detail: 'it does not hold one token of 32 to 256 characters out of A-Z a-z 0-9 . _ ~ + / -' };
}

/** A file that nobody but its owner can read: whoever has a key of the console can be anybody in it. */
function readOwnFile(file: string): KeyFile<string> {
  try {
    const { mode } = statSync(file);
    if (process.platform !== 'win32' && (mode & 0o077) !== 0)
      return { ok: false, detail: 'others can read it; set its mode to 0600' };
    return { ok: true, key: readFileSync(file, 'utf8') };
  } catch {
    return { ok: false, detail: 'it cannot be read; make it, or correct the path' };
  }
}

function isEd25519(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'ed25519';
  } catch {
    return false;
  }
}
