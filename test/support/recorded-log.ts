import type { Log } from '../../ledger/log';

export interface RecordedLog extends Log {
  readonly entries: { readonly level: 'info' | 'warn' | 'error'; readonly fields: unknown; readonly event: unknown }[];
}

/** A log that keeps its entries and prints nothing. */
export function recordedLog(): RecordedLog {
  const entries: RecordedLog['entries'] = [];
  const record =
    (level: 'info' | 'warn' | 'error') =>
    (fields: unknown, event?: unknown): void =>
      void entries.push({ level, fields, event });
  return { entries, info: record('info'), warn: record('warn'), error: record('error') };
}
