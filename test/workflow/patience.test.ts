import { migrate, remove, someone } from '../support/calls';
import { testClock } from '../support/clock';
import { eventually } from '../support/eventually';
import { startHarness, type Harness } from '../support/harness';
import { outcomes } from '../support/messages';

/** A turn lives in one history of 51,200 events: whatever goes on failing has to be tried less and less often. */
describe('what fails again and again is tried with growing pauses', () => {
  const clock = testClock();
  let attempts = 0;
  let failing = false;
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness({
      clock: clock.nowMs,
      policy: { settleAfter: '1s', budget: '2s' },
      onStep: async (step) => {
        if (step !== 'beforeTransaction' || !failing) return;
        attempts += 1;
        throw new Error('a fault of this process');
      },
    });
  }, 30_000);
  afterAll(() => harness.close());

  const eventsOf = async (workflowId: string) =>
    (await harness.holdpoint.client.workflow.getHandle(workflowId).describe()).historyLength;

  test('an attempt that ends before anything was sent', async () => {
    const turn = await harness.start([remove('c1', { id: 1 })], { requester: someone() });
    const [request] = await harness.requests(turn);
    failing = true;
    await harness.decide(request!, 'allow');
    const since = Date.now();
    await eventually(() => expect(Date.now() - since).toBeGreaterThan(3_000));
    failing = false;
    expect(attempts).toBeGreaterThan(1);
    expect(attempts).toBeLessThan(6);
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
    expect(harness.tools.runs.filter((run) => run.arguments['id'] === 1)).toHaveLength(1);
  });

  test("a look-up, also where the ledger's clock is behind Temporal's by an hour", async () => {
    clock.advance(-3_600_000);
    harness.tools.behave('apply_migration', { kind: 'commitThenDrop' }, 1);
    harness.tools.behave('find_migration', { kind: 'error' });
    const turn = await harness.start([migrate()], { requester: someone() });
    const [request] = await harness.requests(turn);
    await harness.decide(request!, 'allow');
    expect(await outcomes(turn)).toEqual([['c1', 'unknown']]);
    expect(harness.tools.receivedBy('find_migration').length).toBeLessThan(6);
    expect(await eventsOf(turn.workflowId)).toBeLessThan(80);
    clock.advance(3_600_000);
  });

  test('a due time, while the ledger is down', async () => {
    await harness.applyPolicy({ deadline: '{ after: 2s, then: expire }', escalateAfter: '1s' });
    const turn = await harness.start([remove('c1', { id: 3 })], { requester: someone() });
    await harness.requests(turn);
    harness.store.down = true;
    const since = Date.now();
    await eventually(() => expect(Date.now() - since).toBeGreaterThan(6_000));
    expect(await eventsOf(turn.workflowId)).toBeLessThan(45);
    harness.store.down = false;
    expect(await outcomes(turn)).toEqual([['c1', 'expired']]);
  });
});
