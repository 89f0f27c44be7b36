import { migrate, remove, someone } from '../support/calls';
import { MINUTE_MS, testClock } from '../support/clock';
import { eventually } from '../support/eventually';
import { startHarness, type Harness } from '../support/harness';
import { outcomes, statuses } from '../support/messages';
import type { PolicyVariant } from '../support/policy-text';

const clock = testClock();
let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({ clock: clock.nowMs });
}, 30_000);
afterAll(() => harness.close());
afterEach(() => {
  harness.tools.setVersion(7);
  harness.tools.setRows([{ id: 1 }]);
  harness.tools.changeTool('apply_migration', {});
});

const MINUTES: Partial<PolicyVariant> = { validity: '{ minutes: 15 }' };
type Call = Parameters<Harness['start']>[0][number];

/** Opens a window by an allow for `call`, which runs. */
const opened = async (call: Call, policy = MINUTES, requester = someone()) => {
  await harness.applyPolicy(policy);
  const turn = await harness.start([call], { requester });
  const [request] = await harness.requests(turn);
  await harness.decide(request!, 'allow');
  expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
  return { requester, request: request! };
};
/** What becomes of the same call now: asked again, or run at once. */
const next = async (call: Call, requester = someone()) => {
  const turn = await harness.start([call], { requester });
  return eventually(async () => {
    const [status] = await statuses(turn);
    expect(['pending', 'executed', 'refused']).toContain(status);
    return status;
  });
};
const runs = (key: unknown) =>
  harness.tools.runs.filter((run) => run.arguments['id'] === key || run.arguments['sql'] === key).length;

describe('a live window', () => {
  test('covers the same call in another turn, with the grant on record, and no other', async () => {
    const { requester, request } = await opened(remove('c1', { id: 1 }));
    const turn = await harness.start([remove('c1', { id: 1 })], { requester });
    const [result] = await turn.results();
    expect(result!.end).toMatchObject({
      outcome: 'executed',
      approval: { grantId: `gr_${request.operationId.slice(3)}.1`, deciders: ['r1'], revision: 1 },
    });
    expect(await next(remove('c1', { id: 2 }), requester)).toBe('pending');
    expect([runs(1), runs(2)]).toEqual([2, 0]);
  });

  test('lasts to its own end, not a moment longer', async () => {
    const { requester } = await opened(remove('c1', { id: 3 }));
    clock.advance(14 * MINUTE_MS);
    expect(await next(remove('c1', { id: 3 }), requester)).toBe('executed');
    clock.advance(MINUTE_MS);
    expect(await next(remove('c1', { id: 3 }), requester)).toBe('pending');
  });

  test('of three uses is used up by three', async () => {
    const { requester } = await opened(remove('c1', { id: 4 }), { validity: '{ uses: 3, minutes: 60 }' });
    const after = [];
    for (const _time of [2, 3, 4]) after.push(await next(remove('c1', { id: 4 }), requester));
    expect(after).toEqual(['executed', 'executed', 'pending']);
    expect(runs(4)).toBe(3);
  });

  test('with a total of 500 covers 400 and then not 400', async () => {
    const policy = {
      rules: `  - id: amounts
    server: orders-db
    scope: { tools: [delete_rows] }
    approvers: { groups: [dba] }
    validity: { minutes: 60, total: { id: 500 } }`,
    };
    const { requester } = await opened(remove('c1', { id: 400 }), policy);
    expect(await next(remove('c1', { id: 400 }), requester)).toBe('pending');
    expect(runs(400)).toBe(1);
  });

  test('shortened by the reviewer ends when the reviewer said', async () => {
    await harness.applyPolicy(MINUTES);
    const requester = someone();
    const turn = await harness.start([remove('c1', { id: 5 })], { requester });
    const [request] = await harness.requests(turn);
    expect((await harness.decide(request!, 'allow', { minutes: 16 })).code).toBe('cannotWiden');
    await harness.decide(request!, 'allow', { minutes: 5 });
    await turn.results();
    clock.advance(5 * MINUTE_MS);
    expect(await next(remove('c1', { id: 5 }), requester)).toBe('pending');
  });

  test('answers the pending siblings with the same binding and rule, and only them', async () => {
    await harness.applyPolicy(MINUTES);
    const requester = someone();
    const turn = await harness.start([remove('c1', { id: 6 }), remove('c2', { id: 6 }), remove('c3', { id: 61 })], {
      requester,
    });
    const elsewhere = await harness.start([remove('c1', { id: 6 })], { requester });
    const [c1] = await harness.requests(turn, 3);
    await harness.requests(elsewhere);
    await harness.decide(c1!, 'allow');
    expect(await outcomes(elsewhere)).toEqual([['c1', 'executed']]);
    await eventually(async () => expect(await statuses(turn)).toEqual(['executed', 'executed', 'pending']));
    expect([runs(6), runs(61)]).toEqual([3, 0]);
  });
});

describe('a live window does not cover', () => {
  const disabled = { ...MINUTES, deleteRows: '        enabled: false' };
  const quorum = { ...MINUTES, quorum: 2 };

  test('a tool that was disabled', async () => {
    const { requester } = await opened(remove('c1', { id: 11 }));
    await harness.applyPolicy(disabled);
    expect(await next(remove('c1', { id: 11 }), requester)).toBe('refused');
    expect(runs(11)).toBe(1);
  });

  test('a changed rule', async () => {
    const { requester } = await opened(remove('c1', { id: 12 }));
    await harness.applyPolicy(quorum);
    expect(await next(remove('c1', { id: 12 }), requester)).toBe('pending');
  });

  test('a changed address of the server; a changed comment voids nothing [WHO-14]', async () => {
    const { requester } = await opened(remove('c1', { id: 13 }));
    await harness.applyPolicy({ ...MINUTES, deleteRows: '        # a comment' });
    expect(await next(remove('c1', { id: 13 }), requester)).toBe('executed');
    await harness.applyPolicy({ ...MINUTES, url: harness.tools.url.replace('127.0.0.1', 'localhost') });
    expect(await next(remove('c1', { id: 13 }), requester)).toBe('pending');
  });

  test('what only unsigned decisions opened, once signatures are required', async () => {
    const { requester } = await opened(remove('c1', { id: 16 }));
    await harness.applyPolicy({ ...MINUTES, trust: 'signatures' });
    expect(await next(remove('c1', { id: 16 }), requester)).toBe('pending');
    expect(runs(16)).toBe(1);
  });

  test('a resource that moved', async () => {
    const { requester } = await opened(migrate('c1', { sql: 'moved' }));
    harness.tools.setVersion(8);
    expect(await next(migrate('c1', { sql: 'moved' }), requester)).toBe('pending');
    harness.tools.setVersion(7);
    expect(await next(migrate('c1', { sql: 'moved' }), requester)).toBe('executed');
  });

  test('a tool whose definition changed', async () => {
    const { requester } = await opened(migrate('c1', { sql: 'redefined' }));
    harness.tools.changeTool('apply_migration', { description: 'Something else.' });
    expect(await next(migrate('c1', { sql: 'redefined' }), requester)).toBe('pending');
  });

  test('anything after it was revoked', async () => {
    const { requester, request } = await opened(remove('c1', { id: 14 }));
    const grantId = `gr_${request.operationId.slice(3)}.1`;
    expect((await harness.ledger.revokeGrant({ grantId, by: 'dana', reason: 'no' })).ok).toBe(true);
    expect(await next(remove('c1', { id: 14 }), requester)).toBe('pending');
    expect(runs(14)).toBe(1);
  });

  test('a target that crossed a threshold meanwhile', async () => {
    const rule = (id: string, when: string, validity: string) => `  - id: ${id}
    server: orders-db
    scope: { tools: [delete_rows] }
    when: { rows: ${when} }
    approvers: { groups: [dba] }
    bind: material
    validity: ${validity}`;
    const policy: Partial<PolicyVariant> = {
      deleteRowsMaterial: '          rows: { from: state, at: /structuredContent/rows/0/id, as: number }',
      deleteRows: '        state: { tool: read_rows, arguments: { table: { value: orders } } }',
      rules: [rule('few', '{ atMost: 10 }', '{ minutes: 15 }'), rule('many', '{ above: 10 }', 'once')].join('\n'),
    };
    harness.tools.setRows([{ id: 10 }]);
    const { requester } = await opened(remove('c1', { id: 15 }), policy);
    expect(await next(remove('c1', { id: 15 }), requester)).toBe('executed');
    harness.tools.setRows([{ id: 11 }]);
    expect(await next(remove('c1', { id: 15 }), requester)).toBe('pending');
    expect(runs(15)).toBe(2);
  });
});

test('a window grant that is gone between the opening and the effect sends the call back to review', async () => {
  const { requester, request } = await opened(remove('c1', { id: 20 }));
  harness.tools.behave('delete_rows', undefined);
  const grantId = `gr_${request.operationId.slice(3)}.1`;
  await harness.store.write(({ db }) =>
    db.updateTable('grants').set({ uses: 1, max_uses: 2 }).where('grant_id', '=', grantId).execute(),
  );
  // Two calls, one use left: both are let through at first, and the second comes back as a request.
  const turn = await harness.start([remove('c1', { id: 20 }), remove('c2', { id: 20 })], { requester });
  await eventually(async () => expect([...(await statuses(turn))].sort()).toEqual(['executed', 'pending']));
  expect(runs(20)).toBe(2);
});
