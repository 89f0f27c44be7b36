import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { HoldpointError, type TurnCallResult } from '../../client';
import type { RunStep } from '../../activities/dependencies';
import { migrate, remove, someone } from '../support/calls';
import { eventually } from '../support/eventually';
import { decisionOn, startHarness, type Harness, PATIENT } from '../support/harness';
import { nudge, outcomes, sendSignal, sendUpdate, statuses } from '../support/messages';
import { resetToDecision } from '../support/reset-turn';

/** What happens once between an allow and its effect: after the call was read afresh, before the transaction. */
let between: (() => Promise<unknown>) | undefined;

const onStep = async (step: RunStep): Promise<void> => {
  if (step !== 'beforeTransaction') return;
  const change = between;
  between = undefined;
  await change?.();
};

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({ onStep });
}, 30_000);
afterAll(() => harness.close());
afterEach(async () => {
  between = undefined;
  harness.tools.setVersion(7);
  harness.tools.changeTool('apply_migration', {});
  await harness.applyPolicy();
});

const begin = async (call = migrate()) => {
  const turn = await harness.start([call], { requester: someone() });
  const [request] = await harness.requests(turn);
  return { turn, request: request! };
};

/** The request's next revision, once the first was allowed and found stale. */
const secondRevision = async (turn: Awaited<ReturnType<typeof begin>>['turn']) =>
  eventually(async () => {
    const { requiredActions } = await turn.snapshot();
    expect(requiredActions[0]).toMatchObject({ revision: 2 });
    return requiredActions[0]!;
  });

const sent = (sql: string) => harness.tools.received.filter((call) => call.arguments['sql'] === sql);

describe('what was approved is what runs', () => {
  test('stored arguments of which one byte was altered are not sent, and go back to review [BIND-01]', async () => {
    const { turn, request } = await begin(migrate('c1', { sql: 'ADD COLUMN note01' }));
    await harness.store.write(({ db }) =>
      sql`update requests set card = replace(card, 'note01', 'nota01') where operation_id = ${request.operationId}`.execute(
        db,
      ),
    );
    expect((await harness.decide(request, 'allow')).code).toBe('accepted');
    expect(await secondRevision(turn)).toMatchObject({
      cause: 'argumentsChanged',
      arguments: { sql: 'ADD COLUMN note01' },
    });
    expect([...sent('ADD COLUMN note01'), ...sent('ADD COLUMN nota01')]).toHaveLength(0);
    expect((await harness.facts(request.operationId)).map((fact) => fact.kind)).toContain('request.stale');
  });

  test('the same turn id with other arguments is TURN_CONFLICT, before and after the allow [BIND-02] [SWAP-1]', async () => {
    const requester = someone();
    const id = randomUUID();
    const turn = await harness.start([remove('c1', { id: 2000 })], { id, requester });
    const altered = () => harness.start([remove('c1', { id: 5000 })], { id, requester });
    await expect(altered()).rejects.toMatchObject({ code: 'TURN_CONFLICT' });
    const [request] = await harness.requests(turn);
    await harness.decide(request!, 'allow');
    await expect(altered()).rejects.toMatchObject({ code: 'TURN_CONFLICT' });
    await turn.results();
    await expect(altered()).rejects.toThrow(HoldpointError);
    expect(harness.tools.runs.map((run) => run.arguments['id'])).toContain(2000);
    expect(harness.tools.received.map((call) => call.arguments['id'])).not.toContain(5000);
  });

  test('a resource that moved after the allow goes back to review; revision 1 and its allow stay on record [BIND-06]', async () => {
    const { turn, request } = await begin(migrate('c1', { sql: 'bind06' }));
    harness.tools.setVersion(8);
    await harness.decide(request, 'allow');
    expect(await secondRevision(turn)).toMatchObject({
      cause: 'resourceChanged',
      resourceVersion: 8,
      previousResourceVersion: 7,
    });
    expect(sent('bind06')).toHaveLength(0);
    const rows = await harness.store.db
      .selectFrom('decisions')
      .select(['revision', 'answer', 'reviewer'])
      .where('operation_id', '=', request.operationId)
      .execute();
    expect(rows).toEqual([{ revision: 1, answer: 'allow', reviewer: 'r1' }]);
  });

  test('an allow for revision 1 while revision 2 is open is stale and decides nothing [BIND-07]', async () => {
    const { turn, request } = await begin();
    harness.tools.setVersion(8);
    await harness.decide(request, 'allow');
    const second = await secondRevision(turn);
    expect(await harness.decide(request, 'allow')).toMatchObject({ code: 'stale', state: 'pending' });
    expect((await harness.decide({ ...second, revision: 1 }, 'allow', { reviewer: 'r2' })).code).toBe('stale');
    expect((await harness.decide({ ...request, revision: 2 }, 'allow', { reviewer: 'r2' })).code).toBe('stale');
    expect(await statuses(turn)).toEqual(['pending']);
    expect((await harness.decide(second, 'allow')).code).toBe('accepted');
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
  });

  test('a card made from a listing of a moment ago is found out right before the effect [BIND-11]', async () => {
    const shared = await startHarness({ listingAgeMs: 60_000 });
    try {
      const first = await shared.start([migrate('c1', { sql: 'bind11 listed' })], { requester: someone() });
      await shared.requests(first);
      shared.tools.changeTool('apply_migration', { description: 'Does something else.' });
      const turn = await shared.start([migrate('c1', { sql: 'bind11 old card' })], { requester: someone() });
      const [request] = await shared.requests(turn);
      await shared.decide(request!, 'allow');
      expect(await secondRevision(turn)).toMatchObject({ cause: 'definitionChanged' });
      expect(shared.tools.runs).toEqual([]);
    } finally {
      await shared.close();
    }
  });

  test.each([
    ['description', { description: 'Runs SQL against the schema of an environment. Then mails it.' }],
    ['input schema', { inputSchema: { type: 'object', properties: { sql: { type: 'string' } } } }],
  ])('another %s of the tool after the allow goes back to review [BIND-11]', async (what, change) => {
    const { turn, request } = await begin(migrate('c1', { sql: `bind11 ${what}` }));
    harness.tools.changeTool('apply_migration', change);
    await harness.decide(request, 'allow');
    expect(await secondRevision(turn)).toMatchObject({ cause: 'definitionChanged' });
    expect(sent(`bind11 ${what}`)).toHaveLength(0);
  });

  test.each([
    ['arguments', { arguments: { environment: 'staging' } }],
    ['tool', { tool: 'read_rows' }],
    ['state', { status: 'allowed' }],
  ])('a decision that also carries %s is refused, and nothing of it is sent [BIND-13]', async (_name, more) => {
    const { turn, request } = await begin();
    expect(await sendUpdate(harness, turn, { ...decisionOn(request, 'allow'), ...more })).toMatchObject({
      code: 'malformed',
    });
    expect(await statuses(turn)).toEqual(['pending']);
    await harness.decide(request, 'allow');
    await turn.results();
    expect(harness.tools.received.filter((call) => call.arguments['environment'] === 'staging')).toHaveLength(0);
  });

  test('another trace id, not a material field: the same digest under material, another one under arguments [BIND-09]', async () => {
    const digests = async (bind: 'material' | 'arguments') => {
      await harness.applyPolicy({ bind });
      const calls = [migrate('c1', { trace_id: 'a' }), migrate('c2', { trace_id: 'b' })];
      const turn = await harness.start(calls, { requester: someone() });
      return new Set((await harness.requests(turn, 2)).map((request) => request.bindingDigest)).size;
    };
    expect(await digests('material')).toBe(1);
    expect(await digests('arguments')).toBe(2);
  });

  test('one allow by signal, by update and repeated is one operation [SWAP-4]', async () => {
    const { turn, request } = await begin(remove('c1', { id: 44 }));
    const decision = decisionOn(request, 'allow');
    await Promise.all([
      sendSignal(harness, turn, decision),
      sendUpdate(harness, turn, decision),
      harness.holdpoint.decide(turn.workflowId, { ...decision, channel: 'console' }, PATIENT),
    ]);
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
    expect((await harness.decide(request, 'allow')).code).toBe('accepted');
    expect(harness.tools.runs.filter((run) => run.arguments['id'] === 44)).toHaveLength(1);
    const rows = await harness.store.db
      .selectFrom('operations')
      .select('operation_id')
      .where('operation_id', '=', request.operationId)
      .execute();
    expect(rows).toHaveLength(1);
  });

  test('a server that got another address after the allow goes back to review [SWAP-8]', async () => {
    const { turn, request } = await begin(migrate('c1', { sql: 'swap8' }));
    between = () => harness.applyPolicy({ url: harness.tools.url.replace('127.0.0.1', 'localhost') });
    await harness.decide(request, 'allow');
    expect(await secondRevision(turn)).toMatchObject({ cause: 'serverChanged' });
    expect(sent('swap8')).toHaveLength(0);
  });

  test('a call whose resource keeps moving is refused as UNSTABLE after three revisions [SWAP-13]', async () => {
    const { turn } = await begin(migrate('c1', { sql: 'swap13' }));
    for (const revision of [1, 2, 3]) {
      const request = await eventually(async () => {
        const [open] = await harness.requests(turn);
        expect(open).toMatchObject({ revision });
        return open!;
      });
      harness.tools.setVersion(40 + revision);
      await harness.decide(request, 'allow');
    }
    const [result] = await turn.results();
    expect(result!.end).toMatchObject({ outcome: 'refused', code: 'UNSTABLE' });
    expect(sent('swap13')).toHaveLength(0);
  });

  test('a quorum raised between allow and effect is judged by the active rule, both versions on record [SWAP-14] [WHO-13]', async () => {
    const { turn, request } = await begin(migrate('c1', { sql: 'swap14' }));
    between = () => harness.applyPolicy({ quorum: 2 });
    await harness.decide(request, 'allow');
    const second = await secondRevision(turn);
    expect(second).toMatchObject({ cause: 'ruleChanged' });
    expect(second.ask.rule?.version).not.toBe(request.ask.rule?.version);
    expect(sent('swap14')).toHaveLength(0);
    const opened = (await harness.facts(request.operationId)).filter((fact) => fact.kind === 'request.opened');
    expect(opened.map((fact) => (fact.body['rule'] as { asking: unknown }).asking)).toEqual([
      request.ask.rule,
      second.ask.rule,
    ]);
    expect(await harness.decide(second, 'allow')).toMatchObject({
      code: 'accepted',
      counted: { allows: 1, needed: 2 },
    });
    expect((await harness.decide(second, 'allow', { reviewer: 'r2' })).code).toBe('accepted');
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
  });

  test('access removed while pending: an allow does not bring it back [SWAP-15]', async () => {
    const { turn, request } = await begin(migrate('c1', { sql: 'swap15' }));
    await harness.applyPolicy({ access: `  - { subjects: [u2], agents: ['*'], server: orders-db, tools: ['*'] }` });
    expect((await harness.decide(request, 'allow')).code).toBe('accepted');
    const [result] = await turn.results();
    expect(result!.end).toMatchObject({ outcome: 'refused', code: 'ACCESS_DENIED' });
    expect(sent('swap15')).toHaveLength(0);
    expect((await harness.facts(request.operationId)).map((fact) => fact.kind)).toContain('call.refused');
  });

  test('access removed between the re-check and the effect refuses as well', async () => {
    const { turn, request } = await begin(migrate('c1', { sql: 'swap15b' }));
    between = () =>
      harness.applyPolicy({ access: `  - { subjects: [u2], agents: ['*'], server: orders-db, tools: ['*'] }` });
    await harness.decide(request, 'allow');
    const [result] = await turn.results();
    expect(result!.end).toMatchObject({ outcome: 'refused', code: 'ACCESS_DENIED' });
    expect(sent('swap15b')).toHaveLength(0);
  });
});

/** A result as a runtime sees it; whether it travelled whole or by its name does not matter. */
const shown = ({ end, ...result }: TurnCallResult) => ({
  ...result,
  approval: end.outcome === 'executed' ? end.approval : null,
});

describe('a reset by an operator, to before the allow, after the run', () => {
  test.each([
    ['with the decision delivered again', true],
    ['with the decision left out, at the next wake', false],
  ])('%s: same result, no second send, no second notice [SWAP-16]', async (name, reapply) => {
    const { turn, request } = await begin(migrate('c1', { sql: `swap16 ${name}` }));
    await harness.decide(request, 'allow');
    const before = (await turn.results()).map(shown);
    const told = await harness.notices(request.operationId);
    await resetToDecision(harness, turn, { reapply });
    const results = turn.results();
    // A wake that comes while the reset is still under way is one of several, as a turn's timers and messages are.
    const waking = reapply ? undefined : setInterval(() => void nudge(harness, turn).catch(() => undefined), 5_000);
    if (!reapply) await nudge(harness, turn);
    expect((await results.finally(() => clearInterval(waking))).map(shown)).toEqual(before);
    expect(sent(`swap16 ${name}`)).toHaveLength(1);
    expect(await harness.notices(request.operationId)).toEqual(told);
  });
});
