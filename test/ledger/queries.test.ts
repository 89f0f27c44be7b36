import { findGrants, latestGrants, liveGrants } from '../../ledger/grant-queries';
import { findOperation } from '../../ledger/find-operation';
import { createLedger, type Active, type Ledger } from '../../ledger/ledger';
import {
  activePolicyText,
  decisionsOn,
  factsOf,
  ledgerCounts,
  listRequests,
  operationRecord,
  revisionsOf,
  turnsOf,
  unknownOperations,
} from '../../ledger/queries';
import {
  activate,
  askOf,
  COVERING,
  decisionFor,
  openPending,
  POLICY,
  prepared,
  type PreparedFixture,
} from '../support/ledger-fixture';
import { freshStore, STORE_KINDS, type FreshStore } from '../support/stores';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1, 10);
const WINDOW = { kind: 'window', uses: 3, durationMs: 60 * MINUTE, total: {} } as const;

describe.each(STORE_KINDS)('reading the ledger on %s', (kind) => {
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

  const db = () => fresh.store.db;
  const open = (call: PreparedFixture) => openPending(ledger, call, active);
  const allow = async (call: PreparedFixture, more = {}) => {
    const request = await open(call);
    await ledger.recordDecision(decisionFor(request, 'allow', more), call.ref.workflowId);
    return request;
  };
  const idsOf = async (...filter: Parameters<typeof listRequests> extends [unknown, ...infer Rest] ? Rest : never) =>
    (await listRequests(db(), ...filter)).map(({ request }) => request.operationId);

  test('open requests are listed by when they opened; closed ones the latest first', async () => {
    const calls = [prepared(), prepared(), prepared()];
    for (const call of calls) {
      await open(call);
      nowMs += MINUTE;
    }
    const [first, second, third] = calls.map((call) => call.ref.operationId);
    expect(await idsOf()).toEqual([first, second, third]);
    for (const call of calls.slice(0, 2)) await ledger.withdraw(call.ref.operationId, 'changed my mind');
    expect(await idsOf()).toEqual([third]);
    expect(await idsOf({ state: 'withdrawn' })).toEqual([second, first]);
    expect(await idsOf({ state: 'withdrawn', limit: 1 })).toEqual([second]);
    const [record] = await listRequests(db(), { state: 'withdrawn' });
    expect(record?.standing).toEqual({
      state: 'withdrawn',
      level: 0,
      dueAtMs: null,
      closedAtMs: T0 + 3 * MINUTE,
      closedReason: 'changed my mind',
    });
  });

  test('requests are narrowed by server, tool, requester, and whom they ask at the level reached', async () => {
    const call = prepared({ server: 'mail', tool: 'send', requester: { subject: 'u9', agent: 'bot', chain: [] } });
    await open(prepared());
    await open(call);
    for (const filter of [{ server: 'mail' }, { tool: 'send' }, { subject: 'u9' }]) {
      expect(await idsOf(filter)).toEqual([call.ref.operationId]);
    }
    expect(await idsOf({ approver: 'dba' })).toHaveLength(2);
    expect(await idsOf({ approver: 'dba-leads' })).toEqual([]);
    nowMs += 10 * MINUTE;
    await ledger.advanceRequest(call.ref.operationId);
    expect(await idsOf({ approver: 'dba-leads' })).toEqual([call.ref.operationId]);
  });

  test('an id is found by its beginning, in any case, an open request before closed ones', async () => {
    const [closed, waiting] = [prepared(), prepared()];
    const gone = await open(closed);
    await ledger.withdraw(gone.operationId, 'x');
    const request = await open(waiting);
    const one = (revision: number | null) => ({
      kind: 'one',
      match: { operationId: request.operationId, revision, server: 'orders-db', state: 'pending' },
    });
    expect(await findOperation(db(), request.shortId.toLowerCase())).toMatchObject(one(1));
    expect(await findOperation(db(), ` ${request.shortId.slice(0, 7)} `)).toMatchObject(one(1));
    expect(await findOperation(db(), request.operationId.toUpperCase())).toMatchObject(one(null));
    expect(await findOperation(db(), 'op_')).toMatchObject(one(null));
    expect(await findOperation(db(), gone.shortId)).toMatchObject({ kind: 'one', match: { state: 'withdrawn' } });
    for (const id of ['op', '', 'op_zz', '%%%', '___']) expect(await findOperation(db(), id)).toEqual({ kind: 'none' });
    await open(prepared());
    expect(await findOperation(db(), 'op_')).toMatchObject({
      kind: 'several',
      matches: [{ state: 'pending' }, { state: 'pending' }],
    });
  });

  test('a call that nobody was asked about, and one that was refused, are found', async () => {
    const [free, refused] = [prepared({ ask: null }), prepared()];
    await ledger.dispatch(free.dispatching(active, { ask: null }));
    const plan = { kind: 'refused', refusal: { code: 'TOOL_UNKNOWN', detail: 'no such tool' } } as const;
    await ledger.openCalls([{ call: refused.ref, active, cause: 'first', plan }]);
    expect(await findOperation(db(), free.ref.operationId)).toMatchObject({
      kind: 'one',
      match: { state: 'dispatched', shortId: null },
    });
    expect((await findOperation(db(), refused.ref.operationId)).kind).toBe('one');
    expect((await factsOf(db(), refused.ref.operationId)).map((fact) => fact.kind)).toContain('call.refused');
  });

  test('a request is read with its revisions, decisions and grant, as they were recorded', async () => {
    const call = prepared({ ask: askOf({ validity: WINDOW }) });
    const request = await allow(call, { minutes: 15, reason: 'ticket 7', channel: 'cli' });
    expect((await revisionsOf(db(), request.operationId)).map((revision) => revision.request)).toEqual([request]);
    expect(await decisionsOn(db(), request.operationId)).toEqual([
      expect.objectContaining({
        revision: 1,
        reviewer: 'r1',
        answer: 'allow',
        minutes: 15,
        reason: 'ticket 7',
        channel: 'cli',
        verified: false,
        atMs: T0,
      }),
    ]);
    const [grant] = await liveGrants(db(), nowMs, COVERING);
    expect(grant).toMatchObject({
      operationId: request.operationId,
      once: false,
      deciders: ['r1'],
      uses: 0,
      maxUses: 3,
      totals: {},
      expiresAtMs: T0 + 15 * MINUTE,
    });
    expect(await findGrants(db(), `gr_${request.operationId.slice(3, 20)}`)).toEqual([grant]);
    expect(await findGrants(db(), 'gr_zz')).toEqual([]);
    for (const policy of [POLICY, null]) expect(await liveGrants(db(), nowMs, policy)).toEqual([]);
    nowMs += 15 * MINUTE;
    expect(await liveGrants(db(), nowMs, COVERING)).toEqual([]);
    expect(await latestGrants(db())).toHaveLength(1);
  });

  test('an operation is read with its outcome, and listed while that is unknown', async () => {
    const call = prepared();
    await allow(call);
    expect(await operationRecord(db(), call.ref.operationId)).toBeNull();
    await ledger.dispatch(call.dispatching(active));
    await ledger.recordOutcome(call.ref.operationId, { outcome: 'unknown', detail: 'no answer' });
    expect(await unknownOperations(db())).toEqual([
      expect.objectContaining({
        operationId: call.ref.operationId,
        state: 'unknown',
        detail: 'no answer',
        approval: expect.objectContaining({ deciders: ['r1'] }),
      }),
    ]);
    await ledger.settle({ operationId: call.ref.operationId, outcome: 'executed', by: 'opal', reason: 'seen' });
    expect(await unknownOperations(db())).toEqual([]);
    expect(await operationRecord(db(), call.ref.operationId)).toMatchObject({
      state: 'executed',
      evidence: 'settlement',
      settledBy: 'opal',
    });
  });

  test('turns are found by their id, and by nothing that only begins alike', async () => {
    const call = prepared({ turnId: 'chat/1' });
    const ref = { ...call.ref, workflowId: 'chat/1~abc' };
    const other = { ...prepared().ref, workflowId: 'chat/10~abc' };
    for (const each of [ref, other]) {
      const { plan, ...opening } = call.opening(active);
      await ledger.openCalls([{ ...opening, plan, call: each }]);
    }
    expect(await turnsOf(db(), 'chat/1')).toEqual([{ subject: 'someone', workflowId: 'chat/1~abc' }]);
    expect(await turnsOf(db(), 'chat')).toEqual([]);
  });

  test('a turn whose calls were all refused is found by the facts, and by nothing that only looks alike', async () => {
    const refused = { kind: 'refused', refusal: { code: 'ACCESS_DENIED', detail: 'no' } } as const;
    const requester = { subject: 'user:nobody', agent: 'bot', chain: [] };
    for (const turnId of ['a"_%\\', 'a"x%\\', 'A"_%\\'])
      for (const callId of ['c1', 'c2']) {
        const call = prepared({ turnId, callId, requester });
        const ref = { ...call.ref, workflowId: `${turnId}~abc` };
        await ledger.openCalls([{ ...call.opening(active), plan: refused, call: ref }]);
      }
    expect(await turnsOf(db(), 'a"_%\\')).toEqual([{ subject: 'user:nobody', workflowId: 'a"_%\\~abc' }]);
    expect(await turnsOf(db(), 'a')).toEqual([]);
  });

  test('what is on record is counted by state, and the active policy is read as it was applied', async () => {
    await open(prepared());
    const call = prepared();
    await allow(call);
    await ledger.dispatch(call.dispatching(active));
    expect(await ledgerCounts(db(), nowMs, COVERING)).toEqual({
      requests: { pending: 1, allowed: 1 },
      operations: { dispatched: 1 },
      liveGrants: 0,
      auditRecords: (await db().selectFrom('audit').select('seq').execute()).length,
    });
    expect(await activePolicyText(db())).toEqual({
      fileName: 'policy.yaml',
      text: expect.stringContaining('"people"'),
    });
  });
});
