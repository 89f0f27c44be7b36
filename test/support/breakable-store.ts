import { LedgerError } from '../../ledger/ledger-error';
import type { Store } from '../../ledger/transaction';

/** A store that a test can make unreachable and bring back, as a database server that is restarted. */
export interface BreakableStore extends Store {
  /** True: every read and write is refused as LEDGER_UNREACHABLE until it is set back. */
  down: boolean;
}

export function breakable(store: Store): BreakableStore {
  const refuse = (): LedgerError => new LedgerError('LEDGER_UNREACHABLE', { ledger: 'test', detail: 'cut off' });
  return {
    down: false,
    kind: store.kind,
    get db() {
      if (this.down) throw refuse();
      return store.db;
    },
    write(command) {
      return this.down ? Promise.reject(refuse()) : store.write(command);
    },
    nowMs() {
      return this.down ? Promise.reject(refuse()) : store.nowMs();
    },
    close: () => store.close(),
  };
}
