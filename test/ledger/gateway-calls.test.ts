import { GATEWAY_CALL_ID } from '../../core/gateway-call';
import type { CallIdentity, ClaimedCall } from '../../ledger/commands/gateway-calls';
import { pruneGatewayCalls } from '../../ledger/gateway-upkeep';
import { createLedger, type Active, type Ledger } from '../../ledger/ledger';
import { activate, decisionFor, openPending, prepared, type PreparedFixture } from '../support/ledger-fixture';
import { freshStore, STORE_KINDS, type FreshStore } from '../support/stores';

const MINUTE = 60_000;
const DAY = 86_400_000;
const T0 = Date.UTC(2026, 0, 1, 10);
const EXECUTED = { outcome: 'executed', result: '{"content":[]}', isError: false, evidence: 'answer' } as const;
const CALL: CallIdentity = { callKey: 'k'.repeat(43), subject: 'someone', server: 'orders-db', tool: 'delete_rows' };

describe.each(STORE_KINDS)('calls of a gateway on %s', (kind) => {
  let fresh: FreshStore;
  let ledger: Ledger;
  let active: Active;
  let nowMs = T0;
  beforeEach(async () => {
    nowMs = T0;
    fresh = await freshStore(kind, { clock: () => nowMs });
    ledger = createLedger(fresh.store, { defaultTrust: 'namespace' });
    active = await activate(ledger);
  });
  afterEach(() => fresh.remove());

  const claim = (call: CallIdentity = CALL) => ledger.claimCall(call);
  const delivered = ({ operationId }: ClaimedCall) => ledger.noteDelivered({ callKey: CALL.callKey, operationId });
  const callOf = ({ turnId }: ClaimedCall): PreparedFixture => prepared({ turnId, callId: GATEWAY_CALL_ID });
  const ask = async (claimed: ClaimedCall) => openPending(ledger, callOf(claimed), active);
  const decide = async (claimed: ClaimedCall, answer: 'allow' | 'deny') =>
    ledger.recordDecision(decisionFor(await ask(claimed), answer), callOf(claimed).ref.workflowId);
  const send = async (claimed: ClaimedCall) => {
    await decide(claimed, 'allow');
    expect((await ledger.dispatch(callOf(claimed).dispatching(active))).kind).toBe('dispatched');
  };
  const run = async (claimed: ClaimedCall) => {
    await send(claimed);
    await ledger.recordOutcome(claimed.operationId, EXECUTED);
  };
  const facts = async (of: string) =>
    (await fresh.store.db.selectFrom('audit').selectAll().where('kind', '=', of).execute()).map(
      (row) => row.operation_id,
    );

  test('a first call gets an operation of its own, with a turn that names its server and tool', async () => {
    const first = await claim();
    expect(first).toEqual({
      turnId: `mcp/orders-db/delete_rows/kkkkkkkkkkkkkkkk-${T0.toString(36)}`,
      operationId: callOf(first).ref.operationId,
      ...{ state: null, asked: null, deliveredAtMs: null },
    });
  });

  test('what its client got long ago is forgotten; what is open, unknown or was never fetched is not', async () => {
    const keys = ['got', 'open', 'unknown', 'unfetched'].map((name) => name.padEnd(43, 'k'));
    const [got, open, unknown, unfetched] = await Promise.all(keys.map((callKey) => claim({ ...CALL, callKey })));
    if (got === undefined || open === undefined || unknown === undefined || unfetched === undefined) throw new Error();
    for (const claimed of [got, unfetched]) await run(claimed);
    await ask(open);
    await send(unknown);
    await ledger.recordOutcome(unknown.operationId, { outcome: 'unknown', detail: 'no answer' });
    const given = [got, unknown].map(({ operationId }, at) =>
      ledger.noteDelivered({ callKey: keys[at * 2] ?? '', operationId }),
    );
    await Promise.all(given);
    const left = async () => {
      const rows = await fresh.store.db.selectFrom('gateway_calls').select('call_key').orderBy('call_key').execute();
      return rows.map(({ call_key: key }) => key.replace(/k+$/, ''));
    };
    nowMs += 7 * DAY;
    expect(await pruneGatewayCalls(fresh.store)).toBe(0);
    nowMs += 1;
    expect(await pruneGatewayCalls(fresh.store)).toBe(1);
    expect(await left()).toEqual(['open', 'unfetched', 'unknown']);
    nowMs += 90 * DAY;
    expect(await pruneGatewayCalls(fresh.store)).toBe(2);
    expect(await left()).toEqual(['unknown']);
  });

  test('an identical call joins it while it is proposed, pending, allowed and sent, through any gateway', async () => {
    const other = createLedger(await fresh.another(), { defaultTrust: 'namespace' });
    const first = await claim();
    nowMs += 40 * MINUTE;
    expect(await other.claimCall(CALL)).toEqual(first);
    const { bindingDigest } = await ask(first);
    const pending = await other.claimCall(CALL);
    expect(pending).toMatchObject({ operationId: first.operationId, state: { status: 'pending' } });
    expect(pending.asked).toEqual({
      ...{ revision: 1, digest: bindingDigest, rule: { id: 'production-migrations', version: 'v1' } },
    });
    await decide(first, 'allow');
    expect(await claim()).toMatchObject({ operationId: first.operationId, state: { status: 'allowed' } });
    expect((await ledger.dispatch(callOf(first).dispatching(active))).kind).toBe('dispatched');
    nowMs += 40 * MINUTE;
    expect(await other.claimCall(CALL)).toMatchObject({
      ...{ operationId: first.operationId, state: { status: 'dispatched' } },
    });
  });

  test('another key, or another person under the same key, is another operation', async () => {
    const first = await claim();
    const other = await claim({ ...CALL, callKey: 'l'.repeat(43) });
    expect(other.operationId).not.toBe(first.operationId);
  });

  test('a result that reached nobody waits for 15 min from its end, and not at the end of them', async () => {
    const first = await claim();
    nowMs += 3 * MINUTE;
    await run(first);
    nowMs += 15 * MINUTE - 1;
    const last = await claim();
    expect(last).toMatchObject({ operationId: first.operationId, deliveredAtMs: null, state: { status: 'ended' } });
    nowMs += 1;
    const next = await claim();
    expect(next.operationId).not.toBe(first.operationId);
    expect(next).toMatchObject({ state: null, asked: null, deliveredAtMs: null });
  });

  test('a result that was written is given again for 2 min from then, and not at the end of them', async () => {
    const first = await claim();
    await run(first);
    nowMs += 10 * MINUTE;
    await delivered(first);
    const writtenAtMs = nowMs;
    nowMs += 2 * MINUTE - 1;
    await delivered(first);
    expect(await claim()).toMatchObject({ operationId: first.operationId, deliveredAtMs: writtenAtMs });
    nowMs += 1;
    expect((await claim()).operationId).not.toBe(first.operationId);
    expect(await facts('result.delivered')).toEqual([first.operationId]);
  });

  test.each([
    ['a denial', (first: ClaimedCall) => decide(first, 'deny')],
    [
      'an expiry',
      async (first: ClaimedCall) => {
        await ask(first);
        nowMs += 30 * MINUTE;
        await ledger.advanceRequest(first.operationId);
      },
    ],
    [
      'a withdrawal',
      async (first: ClaimedCall) => {
        await ask(first);
        await ledger.withdraw(first.operationId, 'test');
      },
    ],
    [
      'a failure',
      async (first: ClaimedCall) => {
        await send(first);
        const ending = { outcome: 'failed', detail: 'refused', evidence: 'notSent', attempt: 1 } as const;
        await ledger.recordOutcome(first.operationId, ending);
      },
    ],
  ])(
    '%s waits for the next identical call however long, is delivered once, and then the call is a new one',
    async (_, end) => {
      const first = await claim();
      await end(first);
      nowMs += 24 * 60 * MINUTE;
      expect(await claim()).toMatchObject({ operationId: first.operationId, state: { status: 'ended' } });
      await delivered(first);
      const next = await claim();
      expect(next.operationId).not.toBe(first.operationId);
      expect(await claim()).toEqual(next);
    },
  );

  test('an unknown outcome stays, whoever was told; settled later, it is delivered before the call is a new one', async () => {
    const first = await claim();
    await send(first);
    await ledger.recordOutcome(first.operationId, { outcome: 'unknown', detail: 'lost' });
    nowMs += 24 * 60 * MINUTE;
    expect(await claim()).toMatchObject({ operationId: first.operationId, state: { end: { outcome: 'unknown' } } });
    await ledger.settle({ operationId: first.operationId, outcome: 'failed', by: 'op', reason: 'not there' });
    nowMs += 24 * 60 * MINUTE;
    expect(await claim()).toMatchObject({ operationId: first.operationId, state: { end: { outcome: 'failed' } } });
    await delivered(first);
    expect((await claim()).operationId).not.toBe(first.operationId);
  });

  test('a new operation in the same millisecond as the one before has another id', async () => {
    const first = await claim();
    await decide(first, 'deny');
    await delivered(first);
    const next = await claim();
    expect(next.turnId).toBe(`mcp/orders-db/delete_rows/kkkkkkkkkkkkkkkk-${(T0 + 1).toString(36)}`);
    expect(next.operationId).not.toBe(first.operationId);
  });

  test('a claim is read as it stands, also when an identical call means another operation already', async () => {
    const first = await claim();
    await run(first);
    await delivered(first);
    const read = () => ledger.readClaimedCall({ callKey: CALL.callKey, ...first });
    expect(await read()).toMatchObject({ operationId: first.operationId, deliveredAtMs: T0, asked: { revision: 1 } });
    nowMs += 2 * MINUTE;
    const next = await claim();
    expect(next.operationId).not.toBe(first.operationId);
    expect(await read()).toMatchObject({ operationId: first.operationId, state: { end: { outcome: 'executed' } } });
    await delivered(first);
    expect((await claim()).deliveredAtMs).toBeNull();
  });

  test('a result may be noted as delivered only once, and for its own operation', async () => {
    const first = await claim();
    await run(first);
    await ledger.noteDelivered({ callKey: CALL.callKey, operationId: 'op_other' });
    await ledger.noteDelivered({ callKey: 'm'.repeat(43), operationId: first.operationId });
    expect(await facts('result.delivered')).toEqual([]);
  });

  test('two gateways that race for one key get one operation, also where the one before is over', async () => {
    const other = createLedger(await fresh.another(), { defaultTrust: 'namespace' });
    for (let round = 0; round < 20; round += 1) {
      const call = { ...CALL, callKey: String(round).padStart(43, 'r') };
      const race = async () => {
        const claims = await Promise.all([ledger, other, ledger, other].map((each) => each.claimCall(call)));
        return new Set(claims.map(({ operationId }) => operationId));
      };
      const [first, ...more] = await race();
      expect(more).toEqual([]);
      const claimed = await claim(call);
      expect(claimed.operationId).toBe(first);
      await ask(claimed);
      await ledger.withdraw(claimed.operationId, 'test');
      await ledger.noteDelivered({ callKey: call.callKey, operationId: claimed.operationId });
      nowMs += 1;
      const [next, ...others] = await race();
      expect(others).toEqual([]);
      expect(next).not.toBe(first);
    }
  });
});
