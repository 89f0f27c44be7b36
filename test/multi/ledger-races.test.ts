import type { CallState } from '../../core/call-state';
import type { Decision } from '../../core/decision';
import type { Ask } from '../../core/evaluation';
import type { ApprovalRequest } from '../../core/request';
import { verifyAudit } from '../../ledger/audit-verify';
import type { DecisionAnswer } from '../../ledger/commands/record-decision';
import type { Dispatched } from '../../ledger/commands/dispatch';
import type { Revoked } from '../../ledger/commands/grants';
import type { Opened } from '../../ledger/commands/open-call';
import { createLedger, type Active, type Ledger } from '../../ledger/ledger';
import { activate, askOf, decisionFor, openPending, prepared, type PreparedFixture } from '../support/ledger-fixture';
import { startRacers, type Racers } from '../support/racers';
import { freshStore, type FreshStore } from '../support/stores';

const HOUR = 3_600_000;

let requesters = 0;
const nextRequester = () => `someone-${(requesters += 1)}`;

/** A call of a requester of its own, so that no round meets the requests of another. */
function callOf({ ask = askOf(), requester = nextRequester(), agent = 'bot' } = {}): PreparedFixture {
  return prepared({ ask, requester: { subject: requester, agent, chain: [] } });
}

const callsOf = (count: number) => Array.from({ length: count }, () => callOf());

const windowOf = (uses: number): Ask => askOf({ validity: { kind: 'window', uses, durationMs: HOUR, total: {} } });

let racers: Racers;
beforeAll(async () => {
  racers = await startRacers(8);
}, 60_000);
afterAll(() => racers.close());

// As many rounds as the rows ask for where processes truly write at once; SQLite lets one write at a time.
describe.each([
  { kind: 'sqlite', scale: 5 },
  { kind: 'postgres', scale: 1 },
] as const)('processes that race on a ledger on $kind', ({ kind, scale }) => {
  let fresh: FreshStore;
  let ledger: Ledger;
  let active: Active;

  beforeAll(async () => {
    fresh = await freshStore(kind);
    ledger = createLedger(fresh.store, { defaultTrust: 'namespace' });
    active = await activate(ledger);
  });
  afterAll(() => fresh.remove());
  // Whoever won and lost: the record of it is one whole chain, and every row is what it says.
  afterEach(async () => {
    const { problems, rows } = await verifyAudit(fresh.store, { publicKeys: [] });
    expect({ problems, rows: rows?.problems }).toEqual({ problems: [], rows: [] });
  });

  /** Rounds are prepared together, since one transaction can open many calls. */
  const openAll = (calls: readonly PreparedFixture[]): Promise<readonly ApprovalRequest[]> =>
    Promise.all(calls.map((call) => openPending(ledger, call, active)));
  const allowAll = async (calls: readonly PreparedFixture[]) => {
    const requests = await openAll(calls);
    await Promise.all(
      calls.map((call, at) => ledger.recordDecision(decisionFor(requests[at]!, 'allow'), call.ref.workflowId)),
    );
  };
  const dispatching = (call: PreparedFixture) =>
    ({ url: fresh.url, command: 'dispatch', args: [call.dispatching(active)] }) as const;
  const deciding = (call: PreparedFixture, decision: Decision) =>
    ({ url: fresh.url, command: 'recordDecision', args: [decision, call.ref.workflowId] }) as const;
  const opening = (call: PreparedFixture) =>
    ({ url: fresh.url, command: 'openCalls', args: [[call.opening(active)]] }) as const;

  const statesOf = (opened: readonly Opened[]): readonly CallState[] =>
    opened.flatMap((each) => (each.kind === 'state' ? [each.state] : []));
  const stateOf = async (call: PreparedFixture) => statesOf(await ledger.openCalls([call.opening(active)]))[0];
  const askAgain = async (call: PreparedFixture) =>
    statesOf(await ledger.openCalls([call.opening(active, 'grantUnusable')]))[0];
  const factsOf = async (call: PreparedFixture, wanted: readonly string[]) => {
    const rows = await fresh.store.db
      .selectFrom('audit')
      .select('kind')
      .where('operation_id', '=', call.ref.operationId)
      .orderBy('seq')
      .execute();
    return rows.map((row) => row.kind).filter((each) => wanted.includes(each));
  };

  test('eight that dispatch one call on its once grant: one may send, 15 rounds [SWAP-11]', async () => {
    const calls = callsOf(15);
    await allowAll(calls);
    for (const call of calls) {
      const answers = await racers.race<Dispatched[]>(...Array.from({ length: 8 }, () => dispatching(call)));
      expect(answers.map((answer) => answer.kind).sort()).toEqual(['dispatched', ...Array<string>(7).fill('state')]);
      expect(await factsOf(call, ['operation.dispatched'])).toHaveLength(1);
    }
  });

  test.each([
    { uses: 1, rounds: 25, name: 'two covered calls race for a window of one use, 25 rounds [SWAP-11]' },
    {
      uses: 3,
      rounds: 100 / scale,
      name: `two turns race for the third of three uses, ${100 / scale} rounds [EXEC-13]`,
    },
  ])('$name: one consumes it, the other asks', async ({ uses, rounds }) => {
    const ask = windowOf(uses);
    const all = Array.from({ length: rounds }, () => {
      const requester = nextRequester();
      return Array.from({ length: uses + 2 }, () => callOf({ ask, requester }));
    });
    await allowAll(all.map((calls) => calls[0]!));
    const before = all.flatMap((calls) => calls.slice(1, uses));
    await Promise.all(before.map((call) => ledger.dispatch(call.dispatching(active))));
    for (const calls of all) {
      const two = calls.slice(-2);
      const answers = await racers.race<Dispatched[]>(...two.map(dispatching));
      const seen = answers.map((answer) => (answer.kind === 'stale' ? answer.cause : answer.kind));
      expect([...seen].sort()).toEqual(['dispatched', 'grantUnusable']);
      expect(await askAgain(two[seen.indexOf('grantUnusable')]!)).toMatchObject({ status: 'pending' });
    }
  });

  test(`revoke against dispatch: revoked and nothing sent, or sent and told too late, ${100 / scale} rounds [EXEC-14] [SWAP-19]`, async () => {
    const calls = callsOf(100 / scale);
    const winners = new Set<string>();
    await allowAll(calls);
    for (const call of calls) {
      const grantId = `gr_${call.ref.operationId.slice(3)}.1`;
      const revoking = { url: fresh.url, command: 'revokeGrant', args: [{ grantId, by: 'l1', reason: 'x' }] } as const;
      const [sent, revoked] = await racers.race<[Dispatched, Revoked]>(dispatching(call), revoking);
      winners.add(sent.kind);
      if (sent.kind === 'dispatched') {
        expect(revoked).toMatchObject({ ok: false, detail: expect.stringContaining('too late') as string });
      } else {
        expect(sent).toEqual({ kind: 'stale', cause: 'grantUnusable' });
        expect(revoked.ok).toBe(true);
        expect(await ledger.operation(call.ref.operationId)).toBeNull();
        expect(await askAgain(call)).toMatchObject({ status: 'pending', request: { revision: 2 } });
      }
    }
    expect(winners).toEqual(new Set(['dispatched', 'stale']));
  });

  test(`allow against deny: one winner, the other told who won and on record, ${200 / scale} rounds [EXEC-02] [GATE-2]`, async () => {
    const calls = callsOf(200 / scale);
    const requests = await openAll(calls);
    const winners = new Set<string>();
    for (const [round, call] of calls.entries()) {
      const answers = await racers.race<DecisionAnswer[]>(
        deciding(call, decisionFor(requests[round]!, 'allow', { reviewer: 'r1' })),
        deciding(call, decisionFor(requests[round]!, 'deny', { reviewer: 'r2' })),
      );
      const verdicts = answers.map(({ verdict }) => verdict);
      const [winner, state] = verdicts[0]!.code === 'accepted' ? ['r1', 'allowed'] : ['r2', 'denied'];
      expect(verdicts.map(({ code }) => code).sort()).toEqual(['accepted', 'conflict']);
      expect(verdicts).toMatchObject(Array(2).fill({ state, decidedBy: [winner] }));
      expect(await factsOf(call, ['request.allowed', 'request.denied'])).toEqual([`request.${state}`]);
      expect(await factsOf(call, ['decision.recorded', 'decision.notCounted'])).toHaveLength(2);
      winners.add(winner);
    }
    expect(winners).toEqual(new Set(['r1', 'r2']));
  });

  test(`two who allow at once: one grant, the later is told who was first, ${200 / scale} rounds [EXEC-02] [GATE-2]`, async () => {
    const calls = callsOf(200 / scale);
    const requests = await openAll(calls);
    for (const [round, call] of calls.entries()) {
      const answers = await racers.race<DecisionAnswer[]>(
        deciding(call, decisionFor(requests[round]!, 'allow', { reviewer: 'r1' })),
        deciding(call, decisionFor(requests[round]!, 'allow', { reviewer: 'r2' })),
      );
      const first = answers.findIndex(({ verdict }) => verdict.code === 'accepted');
      expect(answers[1 - first]!.verdict).toMatchObject({ code: 'alreadyDecided', decidedBy: [['r1', 'r2'][first]] });
      expect(await factsOf(call, ['grant.issued', 'decision.recorded'])).toHaveLength(2);
    }
  });

  test('one decision that arrives twice at once is counted once and answered alike, 25 rounds [EXEC-01]', async () => {
    const calls = callsOf(25);
    const requests = await openAll(calls);
    for (const [round, call] of calls.entries()) {
      const decision = decisionFor(requests[round]!, round % 2 === 0 ? 'allow' : 'deny');
      const [one, other] = await racers.race<DecisionAnswer[]>(deciding(call, decision), deciding(call, decision));
      expect(one!.verdict).toMatchObject({ code: 'accepted', decidedBy: ['r1'] });
      expect(other!.verdict).toEqual(one!.verdict);
      expect(await factsOf(call, ['decision.recorded'])).toHaveLength(1);
    }
  });

  test('allow against the deadline: one takes effect, the other is told, 40 rounds [TIME2-3]', async () => {
    const deadline = { afterMs: 40, then: 'expire', remindEveryMs: null } as const;
    const codes = new Set<string>();
    for (let round = 0; round < 40; round += 1) {
      const call = callOf({ ask: { ...askOf(), escalate: [], deadline } });
      const request = await openPending(ledger, call, active);
      const [decided, advanced] = await racers.raceAt<[DecisionAnswer, CallState]>(
        request.deadlineAtMs + [-12, -2, -1, 0, 1][round % 5]!,
        deciding(call, decisionFor(request, 'allow')),
        { url: fresh.url, command: 'advanceRequest', args: [call.ref.operationId] },
      );
      const { code } = decided.verdict;
      codes.add(code);
      const [end] = await factsOf(call, ['request.allowed', 'request.expired']);
      expect({ code, end }).toEqual(
        code === 'accepted' ? { code, end: 'request.allowed' } : { code: 'late', end: 'request.expired' },
      );
      expect(await factsOf(call, ['request.allowed', 'request.expired'])).toHaveLength(1);
      // The deadline came before the allow, and then waited; or it came after it.
      expect(['pending', 'allowed', 'ended']).toContain(advanced.status);
      if (code === 'accepted') expect(advanced.status).not.toBe('ended');
      else expect(await stateOf(call)).toMatchObject({ end: { outcome: 'expired' } });
    }
    expect(codes).toEqual(new Set(['accepted', 'late']));
  });

  test('eight calls of one human through eight agents at once: ten stay open, never eleven, 5 rounds [TIME-09] [TIME2-6]', async () => {
    for (let round = 0; round < 5; round += 1) {
      const requester = nextRequester();
      await openAll(Array.from({ length: 6 }, () => callOf({ requester })));
      const eight = Array.from({ length: 8 }, (_, at) => opening(callOf({ requester, agent: `bot-${at}` })));
      const states = (await racers.race<Opened[][]>(...eight)).flatMap(statesOf);
      expect(states.filter(({ status }) => status === 'pending')).toHaveLength(4);
      expect(states.filter(({ status }) => status === 'ended')).toMatchObject(
        Array(4).fill({ end: { outcome: 'refused', code: 'OPEN_REQUESTS_LIMIT' } }),
      );
    }
  });

  test('one call proposed by eight at once: one request, the same for all, 10 rounds [GATE-1]', async () => {
    for (const call of callsOf(10)) {
      const answers = await racers.race<Opened[][]>(...Array.from({ length: 8 }, () => opening(call)));
      const states = answers.flatMap(statesOf);
      expect(states[0]).toMatchObject({ status: 'pending', request: { operationId: call.ref.operationId } });
      expect(states).toEqual(Array(8).fill(states[0]));
      expect(await factsOf(call, ['request.opened'])).toHaveLength(1);
    }
  });

  test('withdrawal against dispatch: withdrawn and nothing sent, or sent and it goes on, 15 rounds', async () => {
    const calls = callsOf(15);
    await allowAll(calls);
    for (const call of calls) {
      const withdrawing = { url: fresh.url, command: 'withdraw', args: [call.ref.operationId, 'over'] } as const;
      const [sent, left] = await racers.race<[Dispatched, CallState]>(dispatching(call), withdrawing);
      const row = await ledger.operation(call.ref.operationId);
      if (sent.kind === 'dispatched') expect(left.status).toBe('dispatched');
      else expect(left).toMatchObject({ end: { outcome: 'withdrawn' } });
      expect(row?.state).toBe(sent.kind === 'dispatched' ? 'dispatched' : undefined);
    }
  });
});
