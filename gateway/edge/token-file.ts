import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';
import { parseStrictJson } from '../../core/json';
import { issuesText, strictObject } from '../../core/schema-issues';
import { isPrincipal, MAX_CHAIN } from './principal';

const MAX_FILE_BYTES = 4 * 1_024 * 1_024;

const principal = z.string().refine(isPrincipal, 'it is no name of a subject or an agent');
const record = strictObject({
  id: z.string().regex(/^[\w-]{1,64}$/, 'it is not 1 to 64 of A-Z a-z 0-9 _ -'),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'it is not 64 hexadecimal digits'),
  subject: principal,
  agent: principal,
  chain: z.array(principal).max(MAX_CHAIN, `it has more than ${MAX_CHAIN} names`).readonly().exactOptional(),
  createdAtMs: z.int().min(0, 'it is before 1970'),
});
const tokenFile = strictObject({ v: z.literal(1, 'it is not 1'), tokens: z.array(record) });

/** One local token: its hash, and whom it stands for. */
export type TokenRecord = Readonly<z.infer<typeof record>>;

/** `detail` is one sentence part, without the path and without any value of the file. */
export type TokenFile =
  { readonly ok: true; readonly tokens: readonly TokenRecord[] } | { readonly ok: false; readonly detail: string };

/** Reads a file of local tokens that nobody but its owner can read. Never throws. */
export function readTokenFile(file: string): TokenFile {
  try {
    const { mode, size } = statSync(file);
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) return broken('others can read it; set its mode to 0600');
    if (size > MAX_FILE_BYTES) return broken(`it is longer than ${MAX_FILE_BYTES} bytes`);
    return parseTokenFile(readFileSync(file, 'utf8'));
  } catch {
    return broken('it cannot be read; make its first token, or correct the path');
  }
}

function parseTokenFile(text: string): TokenFile {
  const json = parseStrictJson(text, { maxBytes: MAX_FILE_BYTES });
  // What a parser says of bad JSON may quote it.
  if (!json.ok) return broken('it is not strict JSON');
  const parsed = tokenFile.safeParse(json.value);
  if (!parsed.success) return broken(issuesText(parsed.error, 'the whole'));
  const { tokens } = parsed.data;
  for (const name of ['id', 'sha256'] as const) {
    if (new Set(tokens.map((token) => token[name])).size < tokens.length) return broken(`two tokens have one ${name}`);
  }
  return { ok: true, tokens };
}

function broken(detail: string): TokenFile {
  return { ok: false, detail };
}
