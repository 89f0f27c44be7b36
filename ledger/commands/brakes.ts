import { sql } from 'kysely';
import { refusal, type Refusal } from '../../core/errors';
import { TURN_LIMITS } from '../../core/turn';
import type { Tx } from '../transaction';
import type { CallRef } from './open-call';

const HOUR_MS = 3_600_000;

/** Why no new request is opened for this requester now: the same call denied again and again, or too many open ones. */
export async function brakeOn(tx: Tx, call: CallRef, bindingDigest: string): Promise<Refusal | null> {
  await lockRequester(tx, call.requesterKey);
  return (await repeatedDenials(tx, call, bindingDigest)) ?? (await tooManyOpen(tx, call));
}

/** Two transactions that count at once would each see one request too few. SQLite's are exclusive already. */
async function lockRequester(tx: Tx, requesterKey: string): Promise<void> {
  if (tx.kind === 'postgres')
    await sql`select pg_advisory_xact_lock(hashtextextended(${requesterKey}, 0))`.execute(tx.db);
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

async function tooManyOpen(tx: Tx, { requesterKey, requester }: CallRef): Promise<Refusal | null> {
  const limit = TURN_LIMITS.openRequestsPerRequester;
  const { open } = await tx.db
    .selectFrom('requests')
    .select((eb) => eb.fn.countAll<number>().as('open'))
    .where('requester_key', '=', requesterKey)
    .where('state', '=', 'pending')
    .executeTakeFirstOrThrow();
  if (open < limit) return null;
  return refusal('OPEN_REQUESTS_LIMIT', { requester: requester.subject, count: open, limit });
}
