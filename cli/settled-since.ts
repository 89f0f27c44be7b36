import type { TurnCallResult } from '../client';
import { factsOf, operationRecord } from '../ledger/queries';
import type { Store } from '../ledger/transaction';
import { withLedger, type Place } from './place';
import { safe } from './text';

/** What became of an outcome that was unknown when its turn ended. */
export interface SettledSince {
  readonly outcome: 'executed' | 'failed';
  /** Null where proof was found and nobody settled it. */
  readonly by: string | null;
  readonly reason: string | null;
}

/** By operation: what the ledger knows by now of outcomes that a turn reported as unknown. */
export async function settledSince(
  place: Place,
  results: readonly TurnCallResult[],
): Promise<ReadonlyMap<string, SettledSince>> {
  const unknown = results.filter(({ outcome }) => outcome === 'unknown');
  if (unknown.length === 0 || place.ledgerUrl === null) return new Map();
  const found = await withLedger(place, ({ store }) =>
    Promise.all(unknown.map(async ({ operationId }) => [operationId, await settlementOf(store, operationId)] as const)),
  );
  return new Map(found.flatMap(([id, settled]) => (settled === null ? [] : [[id, settled]])));
}

async function settlementOf({ db }: Store, operationId: string): Promise<SettledSince | null> {
  const record = await operationRecord(db, operationId);
  if (record === null || (record.state !== 'executed' && record.state !== 'failed')) return null;
  const { state: outcome, settledBy: by, detail } = record;
  if (by === null) return { outcome, by, reason: detail };
  const settlement = (await factsOf(db, operationId)).findLast(({ kind }) => kind === 'operation.settlement');
  const reason = settlement?.body['reason'];
  return { outcome, by, reason: typeof reason === 'string' ? reason : detail };
}

/** One line for people, who were told that nobody knows. */
export function settledText({ outcome, by, reason }: SettledSince): string {
  const why = reason === null ? '' : `: ${safe(reason)}`;
  const how = by === null ? `proven since as ${outcome}` : `settled since as ${outcome} by ${safe(by)}`;
  return `${how}${why}; start the same turn again to hand it to the agent`;
}
