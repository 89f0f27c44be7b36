import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { connect } from '../../client';
import { bindingDigest, digestOf } from '../../core/digest';
import { migrate, someone } from '../support/calls';
import { eventually } from '../support/eventually';
import { decisionOn, startHarness, type Harness } from '../support/harness';
import { outcomes, statuses } from '../support/messages';

const PASSWORD = 'correct horse battery staple';

describe('a secret argument', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness({ policy: { secrets: ['/password'], bind: 'arguments', preview: true } });
  }, 30_000);
  afterAll(() => harness.close());

  const everything = async () => {
    const tables = await harness.store.db.introspection.getTables();
    const rows = await Promise.all(
      tables.map(({ name }) => sql`select * from ${sql.table(name)}`.execute(harness.store.db)),
    );
    return JSON.stringify(rows.map((result) => result.rows));
  };

  test('reaches the tool, and stays out of the ledger, cards and events; it is bound all the same [BIND-05]', async () => {
    const turn = await harness.start([migrate('c1', { password: PASSWORD })], { requester: someone() });
    const [request] = await harness.requests(turn);
    expect(request!.arguments['password']).toMatch(/^secret:[0-9a-f]{32}$/);
    expect(JSON.stringify((await turn.snapshot()).events)).not.toContain(PASSWORD);
    await harness.decide(request!, 'allow');
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
    expect(harness.tools.runs.at(-1)?.arguments['password']).toBe(PASSWORD);
    expect(await everything()).not.toContain(PASSWORD);
    const other = await harness.start([migrate('c1', { password: `${PASSWORD}!` })], { requester: someone() });
    const [another] = await harness.requests(other);
    expect(another!.bindingDigest).not.toBe(request!.bindingDigest);
    expect(another!.arguments['password']).not.toBe(request!.arguments['password']);
  });

  test('that the server repeats in a preview, a state or an error is a token there too', async () => {
    await harness.applyPolicy({ secrets: ['/sql'], preview: true });
    const sql = 'the "secret" sql';
    harness.tools.setRows([{ id: 1, item: `was ${sql}` }]);
    const turn = await harness.start([migrate('c1', { sql })], { requester: someone() });
    const [request] = await harness.requests(turn);
    const token = request!.arguments['sql'] as string;
    expect(JSON.stringify(request!.preview)).toContain(token);
    expect(JSON.stringify(request!.state)).toContain(`was ${token}`);
    harness.tools.behave(
      'apply_migration',
      {
        kind: 'http',
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: (id) => JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: `cannot run ${sql}` } }),
      },
      1,
    );
    await harness.decide(request!, 'allow');
    const [result] = await turn.results();
    expect(result!.end).toMatchObject({ outcome: 'failed', detail: expect.stringContaining(token) as string });
    const seen = (await everything()) + JSON.stringify(await turn.snapshot());
    expect(seen.replaceAll('\\', '')).not.toContain(sql);
    harness.tools.setRows([{ id: 1, item: 'chair' }]);
  });

  test('that a look-up repeats is kept nowhere: its words are left out', async () => {
    await harness.applyPolicy({ secrets: ['/sql'], settleAfter: '0s', budget: '1s' });
    const sql = 'the looked-up sql';
    const turn = await harness.start([migrate('c1', { sql })], { requester: someone() });
    const [request] = await harness.requests(turn);
    harness.tools.behave('apply_migration', { kind: 'drop' }, 1);
    harness.tools.behave('find_migration', {
      kind: 'http',
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: (id) => JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32603, message: `lost ${sql}` } }),
    });
    await harness.decide(request!, 'allow');
    const [result] = await turn.results();
    harness.tools.behave('find_migration', undefined);
    expect(result!.end).toMatchObject({ outcome: 'unknown', detail: expect.stringContaining('secrets') as string });
    expect((await everything()) + JSON.stringify(result)).not.toContain(sql);
  });

  test('of few possible ones cannot be found out by a guess at a digest, wherever it is bound [BIND-05]', async () => {
    const args = { environment: 'production', sql: '4711' };
    for (const bind of ['arguments', 'material'] as const) {
      await harness.applyPolicy({ secrets: ['/sql'], bind });
      const turn = await harness.start([migrate('c1', args)], { requester: someone() });
      const [request] = await harness.requests(turn);
      await harness.decide(request!, 'allow');
      expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
      const { requester, server: name, serverIdentity: identity, tool, toolDigest, resourceVersion } = request!;
      const material = { environment: { found: true, value: 'production' }, statement: { found: true, value: '4711' } };
      const bound = bind === 'arguments' ? args : material;
      const guesses = [
        digestOf(['holdpoint/call/1', name, tool, args]),
        bindingDigest({ v: 1, requester, server: { name, identity }, tool, toolDigest, bind, bound, resourceVersion }),
        digestOf(['holdpoint/similar/1', name, tool, material]),
      ];
      const kept = await everything();
      expect(guesses.filter((guess) => kept.includes(guess))).toEqual([]);
    }
  });

  test('of a call that came before there was a policy cannot be found out either', async () => {
    await harness.store.write(({ db }) => db.updateTable('policies').set({ active: 0 }).execute());
    const turn = await harness.start([migrate('c1', { password: '4711' })], { requester: someone() });
    expect((await turn.results())[0]!.end).toMatchObject({ code: 'NO_POLICY' });
    const args = { environment: 'production', sql: 'ADD COLUMN note', password: '4711' };
    expect(await everything()).not.toContain(digestOf(['holdpoint/call/1', 'orders-db', 'apply_migration', args]));
  });
});

describe('encrypted payloads', () => {
  const key = randomBytes(32).toString('base64');
  const withKey = async <T>(text: string, work: () => Promise<T>): Promise<T> => {
    process.env['HOLDPOINT_PAYLOAD_KEY'] = text;
    try {
      return await work();
    } finally {
      delete process.env['HOLDPOINT_PAYLOAD_KEY'];
    }
  };
  let harness: Harness;
  beforeAll(async () => {
    harness = await withKey(key, () => startHarness({ payloadKey: key }));
  }, 30_000);
  afterAll(() => harness.close());

  const connected = () =>
    connect({
      address: process.env['HOLDPOINT_TEST_TEMPORAL'] ?? '',
      namespace: 'default',
      taskQueue: harness.taskQueue,
    });

  test('a turn runs, and Temporal holds nothing of its arguments in the clear', async () => {
    const turn = await harness.start([migrate('c1', { sql: 'ADD COLUMN in_the_clear' })], { requester: someone() });
    const [request] = await harness.requests(turn);
    await harness.decide(request!, 'allow', { reason: 'reason in_the_clear' });
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
    const { history } = await harness.holdpoint.client.workflowService.getWorkflowExecutionHistory({
      namespace: 'default',
      execution: { workflowId: turn.workflowId },
    });
    const bytes = (history?.events ?? []).map((event) =>
      JSON.stringify(event, (_key, value: unknown) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
      ),
    );
    expect(bytes.length).toBeGreaterThan(20);
    expect(bytes.filter((text) => text.includes('in_the_clear'))).toEqual([]);
  });

  test('a client with another key gets a typed error, its decision does not count, the turn stays decidable', async () => {
    const requester = someone();
    const turn = await harness.start([migrate()], { requester });
    const [request] = await harness.requests(turn);
    const stranger = await withKey(randomBytes(32).toString('base64'), connected);
    await expect(stranger.decide(turn.workflowId, decisionOn(request!, 'allow'))).rejects.toMatchObject({
      code: 'PAYLOAD_UNREADABLE',
    });
    const seen = stranger.attach({ id: turn.id, subject: requester.subject });
    await expect(seen.snapshot()).rejects.toMatchObject({ code: 'PAYLOAD_UNREADABLE' });
    await eventually(async () => expect((await turn.snapshot()).ignored).toBe(1));
    expect(await statuses(turn)).toEqual(['pending']);
    await harness.decide(request!, 'deny');
    expect(await outcomes(turn)).toEqual([['c1', 'denied']]);
    await expect(seen.results()).rejects.toMatchObject({ code: 'PAYLOAD_UNREADABLE' });
    await stranger.close();
  });

  test('a client without a key cannot read the turn', async () => {
    const requester = someone();
    const turn = await harness.start([migrate()], { requester });
    const stranger = await connected();
    const seen = stranger.attach({ id: turn.id, subject: requester.subject });
    await expect(seen.snapshot()).rejects.toMatchObject({ code: 'PAYLOAD_UNREADABLE' });
    await expect(seen.events().next()).rejects.toMatchObject({ code: 'PAYLOAD_UNREADABLE' });
    await stranger.close();
  });
});
