import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { createLedger } from '../../ledger/ledger';
import { openStore } from '../../ledger/open-store';
import { activate, decisionFor, openPending, prepared } from '../../test/support/ledger-fixture';

const EXECUTED = { outcome: 'executed', result: '{"done":true}', isError: false, evidence: 'answer' } as const;

/**
 * `approvals`: open, decide, dispatch, outcome, a transaction each, with audit and outbox. `commits`: four transactions
 * of one row each, which is what the store and its disk cost whatever is written.
 * Arguments: the ledger's URL, one of these, how many callers, for how long. Prints `{ rounds, elapsedMs }`.
 */
async function main([url = '', work = '', callers = '1', durationMs = '1000']: readonly string[]): Promise<void> {
  const store = await openStore(url, pino({ level: 'warn' }, pino.destination(2)));
  const ledger = createLedger(store, { defaultTrust: 'namespace' });
  const active = await activate(ledger);
  let next = 0;

  const approve = async (): Promise<void> => {
    next += 1;
    // A requester has at most ten open requests, so each caller's are another one's.
    const call = prepared({
      requester: { subject: `user:${next}`, agent: 'bench', chain: [] },
      arguments: { id: next },
    });
    const request = await openPending(ledger, call, active);
    const { verdict } = await ledger.recordDecision(decisionFor(request, 'allow'), call.ref.workflowId);
    if (verdict.code !== 'accepted') throw new Error(`the decision was not accepted: ${verdict.code}`);
    const dispatched = await ledger.dispatch(call.dispatching(active));
    if (dispatched.kind !== 'dispatched') throw new Error(`not dispatched: ${dispatched.kind}`);
    const state = await ledger.recordOutcome(call.ref.operationId, EXECUTED);
    if (state?.status !== 'ended' || state.end.outcome !== 'executed') throw new Error('the outcome is not on record');
  };
  const commit = async (): Promise<void> => {
    for (let count = 0; count < 4; count += 1) {
      await store.write((tx) => {
        tx.emit({ id: randomUUID(), type: 'bench', subject: null, data: {} });
        return Promise.resolve();
      });
    }
  };
  const round = work === 'commits' ? commit : approve;
  const run = async (forMs: number): Promise<{ rounds: number; elapsedMs: number }> => {
    const startMs = performance.now();
    let rounds = 0;
    const caller = async (): Promise<void> => {
      while (performance.now() - startMs < forMs) {
        await round();
        rounds += 1;
      }
    };
    await Promise.all(Array.from({ length: Number(callers) }, caller));
    return { rounds, elapsedMs: performance.now() - startMs };
  };

  await run(500);
  console.log(JSON.stringify(await run(Number(durationMs))));
  await store.close();
}

void main(process.argv.slice(2));
