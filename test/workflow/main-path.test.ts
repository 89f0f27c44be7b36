import { startHarness, type Harness } from '../support/harness';

describe('a turn with one approval', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness();
  }, 30_000);
  afterAll(() => harness.close());

  test('waits, runs once after the allow, and says so', async () => {
    const turn = await harness.start([
      {
        id: 'c1',
        server: 'orders-db',
        tool: 'apply_migration',
        arguments: { environment: 'production', sql: 'ADD COLUMN note' },
      },
    ]);
    const [request] = await harness.requests(turn);
    if (request === undefined) throw new Error('no request');
    expect(harness.tools.runs).toHaveLength(0);
    expect((await harness.decide(request, 'allow')).code).toBe('accepted');
    const [result] = await turn.results();
    expect(result).toMatchObject({ callId: 'c1', outcome: 'executed' });
    expect(harness.tools.runs).toHaveLength(1);
    expect((await harness.facts(request.operationId)).map((fact) => fact.kind)).toEqual([
      'call.proposed',
      'request.opened',
      'request.allowed',
      'grant.issued',
      'decision.recorded',
      'operation.dispatched',
      'operation.executed',
    ]);
  });
});
