import { canonicalJson } from '../core/json';
import type { OutboxEvent } from './transaction';

/** CloudEvents 1.0, structured mode: the attributes that every event of the ledger has. */
export interface CloudEvent extends OutboxEvent {
  /** URI of the ledger that emitted it; `source` and `id` together are unique. */
  readonly source: string;
  readonly timeMs: number;
}

/** The event as canonical JSON: stored, signed and sent as these bytes. */
export function cloudEventJson({ id, source, type, subject, data, timeMs }: CloudEvent): string {
  return canonicalJson({
    specversion: '1.0',
    id,
    source,
    type,
    ...(subject !== null && { subject }),
    time: new Date(timeMs).toISOString(),
    datacontenttype: 'application/json',
    data,
  });
}
