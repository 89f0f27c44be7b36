import type { Logger } from 'pino';

/** What the ledger logs with: an object first, then one event name. */
export type Log = Pick<Logger, 'info' | 'warn' | 'error'>;
