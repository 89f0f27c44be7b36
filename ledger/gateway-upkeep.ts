import type { Store } from './transaction';

const DAY_MS = 86_400_000;

/** How long a call is kept whose end its client got: long after the identical call means a new one. */
const DELIVERED_MS = 7 * DAY_MS;

/** How long any other is kept: longer than any request waits. */
const LONGEST_MS = 90 * DAY_MS;

const PAGE = 500;

/**
 * Removes which operation a gateway's call meant, where nobody needs it any more; the operation itself stays on record.
 * What is under way or unknown is kept, so that an identical call never becomes a second one. Answers how many it removed.
 */
export async function pruneGatewayCalls(store: Store): Promise<number> {
  const nowMs = await store.nowMs();
  const old = await store.db
    .selectFrom('gateway_calls')
    .select('call_key')
    .where((eb) => eb.or([eb('delivered_at', '<', nowMs - DELIVERED_MS), eb('opened_at', '<', nowMs - LONGEST_MS)]))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('operations')
            .select('operations.operation_id')
            .whereRef('operations.operation_id', '=', 'gateway_calls.operation_id')
            .where('operations.state', 'in', ['dispatched', 'unknown']),
        ),
      ),
    )
    .limit(PAGE)
    .execute();
  if (old.length === 0) return 0;
  const keys = old.map(({ call_key: key }) => key);
  return store.write(async ({ db }) => {
    // One that was claimed anew meanwhile has a new time.
    const { numDeletedRows } = await db
      .deleteFrom('gateway_calls')
      .where('call_key', 'in', keys)
      .where('opened_at', '<', nowMs - DELIVERED_MS)
      .executeTakeFirst();
    return Number(numDeletedRows);
  });
}
