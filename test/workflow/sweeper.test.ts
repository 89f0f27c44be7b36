import { remove, someone } from '../support/calls';
import { MINUTE_MS, testClock } from '../support/clock';
import { eventually } from '../support/eventually';
import { startHarness, type Harness } from '../support/harness';

const clock = testClock();
let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({ clock: clock.nowMs, policy: { idempotent: true, settleAfter: '3s' } });
}, 30_000);
afterAll(() => harness.close());

test('what an ended turn would have sent again, since nothing was done, fails instead of staying sent for ever', async () => {
  harness.tools.behave('delete_rows', { kind: 'drop' }, 1);
  const turn = await harness.start([remove('c1', { id: 16 })], { requester: someone() });
  const [request] = await harness.requests(turn);
  const { operationId } = request!;
  await harness.decide(request!, 'allow');
  await eventually(() => expect(harness.tools.receivedBy('delete_rows')).toHaveLength(1));
  await harness.holdpoint.client.workflow.getHandle(turn.workflowId).terminate('by an operator');
  await eventually(
    async () =>
      expect(await harness.ledger.operation(operationId)).toMatchObject({
        state: 'failed',
        evidence: 'lookUp',
        attempt: 1,
      }),
    30_000,
  );
  const kinds = (await harness.facts(operationId)).map(({ kind }) => kind);
  expect(kinds.slice(-2)).toEqual(['operation.absent', 'operation.failed']);
  expect(harness.tools.receivedBy('delete_rows')).toHaveLength(1);
});

test('old events are taken out of the outbox', async () => {
  const events = () => harness.store.db.selectFrom('outbox').select('event_id').execute();
  expect(await events()).not.toEqual([]);
  clock.advance(8 * 24 * 60 * MINUTE_MS);
  await harness.startWorker();
  await eventually(async () => expect(await events()).toEqual([]));
});
