import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { z } from 'zod';
import type { TurnStart } from '../client';
import { parseStrictJson } from '../core/json';
import { issuesText, strictObject } from '../core/schema-issues';
import { placeFinder } from '../core/text-place';
import { errorCode } from './error-code';
import { CliFailure } from './failure';
import type { Io } from './io';
import type { Place } from './place';
import { safe } from './text';

/** 50 calls of 256 KiB, and more than Temporal takes in any case. */
const MOST_BYTES = 16 * 1024 * 1024;

/** The frame of the file; what is inside a call is the client's to judge. */
const turnFile = strictObject({
  id: z.string().exactOptional(),
  requester: z
    .strictObject({ subject: z.string(), agent: z.string(), chain: z.array(z.string()).exactOptional() })
    .exactOptional(),
  calls: z.array(
    strictObject({
      id: z.string(),
      server: z.string(),
      tool: z.string(),
      arguments: z.unknown(),
      confirm: z.boolean().exactOptional(),
      note: z.string().exactOptional(),
    }),
  ),
});

/** Reads a turn from a file, or from stdin where the file is `-`. A missing id is made up; a missing requester is dev's agent. */
export async function readTurn(io: Io, place: Place, file: string): Promise<TurnStart> {
  const text =
    file === '-' ? await readAll(io.stdin) : await readFile(resolve(io.cwd, file), 'utf8').catch(unread(file));
  const json = parseStrictJson(text, { maxBytes: MOST_BYTES });
  if (!json.ok) throw unusable(file, `${json.detail}, ${placeText(text, json.offset)}`);
  const parsed = turnFile.safeParse(json.value);
  if (!parsed.success) throw unusable(file, issuesText(parsed.error, 'the turn'));
  const requester = parsed.data.requester ?? (place.kind === 'dev' ? place.dev?.agent : undefined);
  if (requester === undefined)
    throw unusable(file, 'requester: it is missing; write { "subject": "user:…", "agent": "…" }');
  return { id: parsed.data.id ?? randomUUID(), requester, calls: parsed.data.calls };
}

const UNREAD: Readonly<Record<string, string>> = { ENOENT: 'is not there', EISDIR: 'is a folder' };

function unread(file: string): (error: unknown) => never {
  return (error) => {
    const why = UNREAD[errorCode(error) ?? ''] ?? 'cannot be read';
    const message = `The turn file ${safe(file)} ${why}. Nothing was started.`;
    throw new CliFailure('notFound', message, 'Correct the path, or give - for stdin.');
  };
}

function placeText(text: string, offset: number): string {
  const { line, column } = placeFinder(text)(offset);
  return `line ${line}, column ${column}`;
}

function unusable(file: string, detail: string): CliFailure {
  return new CliFailure(
    'refused',
    `${safe(file)} is no turn: ${detail}. Nothing was started.`,
    'See examples/production-migration/turn.json for the form.',
  );
}
