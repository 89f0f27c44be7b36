import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { publicKeyOf, signDecision, type Decision } from '../client';
import { CliFailure } from './failure';
import type { Io } from './io';
import type { Paint } from './paint';
import type { Place } from './place';
import { safe } from './text';

export interface ReviewerOptions {
  readonly as?: string;
  readonly key?: string;
}

/** The name under which a command acts. It is a claim until a signature or the database's own login proves it. */
export function actorOf({ env }: Pick<Io, 'env'>, place: Place, { as }: Pick<ReviewerOptions, 'as'>): string {
  const named = as ?? env['HOLDPOINT_REVIEWER'] ?? '';
  if (named !== '') return named;
  if (place.kind === 'dev' && place.dev !== null) return place.dev.reviewer.name;
  throw new CliFailure('refused', 'Who are you? Nothing was recorded.', 'Give --as NAME, or set HOLDPOINT_REVIEWER.');
}

/** A name on record that nothing proves: only decisions are signed. */
export function claimed(name: string, paint: Paint): string {
  return `${safe(name)}, ${paint.red(NOT_SIGNED)}`;
}

export const NOT_SIGNED = 'UNVERIFIED: not signed';

/** A decision as it is sent, and the public half of the key that signed it, where one did. */
export interface Signed {
  readonly decision: Decision;
  readonly publicKey: string | null;
}

/** Signs a decision with the reviewer's key where one is named, or is the dev reviewer's own; else leaves it unsigned. */
export async function signed(
  io: Io,
  place: Place,
  given: { options: ReviewerOptions; decision: Decision },
): Promise<Signed> {
  const file = keyFileOf(io, place, given);
  if (file === null) return { decision: given.decision, publicKey: null };
  const pem = await readFile(file, 'utf8').catch(() => {
    throw new CliFailure(
      'notFound',
      `The key ${safe(file)} cannot be read. Nothing was sent.`,
      'Correct --key, or make one with "holdpoint key new FILE".',
    );
  });
  try {
    return { decision: signDecision(given.decision, pem), publicKey: publicKeyOf(pem) };
  } catch {
    throw new CliFailure(
      'refused',
      `${safe(file)} holds no private Ed25519 key in PEM. Nothing was sent.`,
      'Make one with "holdpoint key new FILE" and put its public half into the policy.',
    );
  }
}

function keyFileOf(
  { env, cwd }: Io,
  place: Place,
  { options, decision }: { options: ReviewerOptions; decision: Decision },
): string | null {
  const named = options.key ?? env['HOLDPOINT_REVIEWER_KEY_FILE'] ?? '';
  if (named !== '') return resolve(cwd, named);
  const own = place.kind === 'dev' ? place.dev?.reviewer : undefined;
  return own?.name === decision.reviewer ? own.keyFile : null;
}
