import { sql } from 'kysely';
import { refusal, type Refusal } from '../../core/errors';
import { TURN_LIMITS } from '../../core/turn';
import type { Tx } from '../transaction';
import type { CallRef } from './open-call';

const HOUR_MS = 3_600_000;

/**
 * Why no new request is opened for this requester now: the same call denied again and again, or too many open ones of
 * the same human, whatever agents ask: their names are the runtime's own.
 */
export async function brakeOn(tx: Tx, call: CallRef, bindingDigest: string): Promise<Refusal | null> {
  await lockSubject(tx, call.requester.subject);
  return (await repeatedDenials(tx, call, bindingDigest)) ?? (await tooManyOpen(tx, call));
}

/** Two transactions that count at once would each see one request too few. SQLite's are exclusive already. */
async function lockSubject(tx: Tx, subject: string): Promise<void> {
  if (tx.kind === 'postgres')
    await sql`select pg_advisory_xact_lock(hashtextextended(${`subject ${subject}`}, 0))`.execute(tx.db);
}

async function repeatedDenials(tx: Tx, { requesterKey }: CallRef, bindingDigest: string): Promise<Refusal | null> {
  const denied = await tx.db
    .selectFrom('requests')
    .select('closed_at')
    .where('requester_key', '=', requesterKey)
    .where('binding_digest', '=', bindingDigest)
    .where('state', '=', 'denied')
    .where('closed_at', '>', tx.nowMs - HOUR_MS)
    .orderBy('closed_at', 'desc')
    .limit(3)
    .execute();
  const third = denied[2]?.closed_at;
  if (third === undefined || third === null) return null;
  return refusal('DENIALS_REPEATED', { count: 3, waitSeconds: Math.ceil((third + HOUR_MS - tx.nowMs) / 1_000) });
}

async function tooManyOpen(tx: Tx, { requester }: CallRef): Promise<Refusal | null> {
  const limit = TURN_LIMITS.openRequestsPerRequester;
  const { open } = await tx.db
    .selectFrom('requests')
    .select((eb) => eb.fn.countAll<number>().as('open'))
    .where('subject', '=', requester.subject)
    .where('state', '=', 'pending')
    .executeTakeFirstOrThrow();
  if (open < limit) return null;
  return refusal('OPEN_REQUESTS_LIMIT', { requester: requester.subject, count: open, limit });
}
