import type { Kysely } from 'kysely';
import type { Database } from './schema';

/** How far endpoints got with events of one kind. */
export interface DeliveriesAbout {
  /** One of them was tried at least once, so it may have arrived. */
  readonly tried: boolean;
  /** One of them was tried and did not end yet: it may still arrive. */
  readonly underWay: boolean;
  /** False where the outbox has no such event: there was none, or it was old enough to be removed. */
  readonly known: boolean;
}

type Prefixes = readonly string[];

/**
 * What became of events whose ids begin with one of `prefixes`, at any of `endpoints`. What was found to be superfluous
 * before its first attempt counts as not tried.
 */
export async function deliveriesAbout(
  db: Kysely<Database>,
  { endpoints, prefixes }: { readonly endpoints: readonly string[]; readonly prefixes: Prefixes },
): Promise<DeliveriesAbout> {
  const events = await db
    .selectFrom('outbox')
    .select('position')
    .where((eb) =>
      eb.or(
        prefixes.map((prefix) => eb.and([eb('event_id', '>=', prefix), eb('event_id', '<', `${prefix}\u{10ffff}`)])),
      ),
    )
    .execute();
  if (events.length === 0) return { tried: false, underWay: false, known: false };
  const rows = await db
    .selectFrom('deliveries')
    .select(['delivered_at as deliveredAtMs', 'given_up_at as givenUpAtMs'])
    .where('endpoint', 'in', endpoints)
    .where(
      'position',
      'in',
      events.map(({ position }) => position),
    )
    .where('attempts', '>', 0)
    .execute();
  return {
    tried: rows.length > 0,
    underWay: rows.some(({ deliveredAtMs, givenUpAtMs }) => deliveredAtMs === null && givenUpAtMs === null),
    known: true,
  };
}
