import { LedgerError } from '../../ledger/ledger-error';
import type { Store } from '../../ledger/transaction';

/** A store that a test can make unreachable and bring back, as a database server that is restarted. */
export interface BreakableStore extends Store {
  /** True: every read and write is refused as LEDGER_UNREACHABLE until it is set back. */
  down: boolean;
  /** How often something was refused. */
  refused: number;
}

export function breakable(store: Store): BreakableStore {
  const refuse = (): LedgerError => {
    wrapped.refused += 1;
    return new LedgerError('LEDGER_UNREACHABLE', { ledger: 'test', detail: 'cut off' });
  };
  const wrapped: BreakableStore = {
    down: false,
    refused: 0,
    kind: store.kind,
    name: store.name,
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
  return wrapped;
}
