import { eventually } from '../support/eventually';
import { notifyStage, type NotifyStage } from '../support/notify-stage';
import { STORE_KINDS } from '../support/stores';

const REQUESTS = 12;

describe.each(STORE_KINDS)('three processes that tell of one ledger on %s', (kind) => {
  let stage: NotifyStage;
  beforeEach(async () => {
    stage = await notifyStage(kind);
  });
  afterEach(() => stage.close());

  it('send one notice for each request, event and channel', async () => {
    const routes = [{ events: ['opened', 'closed'], channels: ['slack', 'pager'] }];
    const stores = [stage.fresh.store, await stage.fresh.another(), await stage.fresh.another()];
    await Promise.all(stores.map((store) => stage.relay({ routes, store })));
    const requester = (n: number) => ({ subject: `user:n${n}`, agent: 'bot', chain: [] });
    const asked = await Promise.all(
      Array.from({ length: REQUESTS }, (_, n) => stage.ask({ requester: requester(n), server: `s${n}` })),
    );
    await eventually(() => expect(stage.pager.received.length).toBeGreaterThanOrEqual(REQUESTS));
    await eventually(() => expect(stage.slack.received.length).toBeGreaterThanOrEqual(REQUESTS));
    await Promise.all(asked.map((one) => stage.answer(one, 'deny', 'no')));
    await eventually(() => expect(stage.pager.received.length).toBeGreaterThanOrEqual(2 * REQUESTS));
    await stage.settled();
    expect([stage.slack.received.length, stage.pager.received.length]).toEqual([2 * REQUESTS, 2 * REQUESTS]);
    const keys = stage.pager.received.map(({ body }) => {
      const { event_action, dedup_key } = JSON.parse(body) as Record<string, string>;
      return `${event_action} ${dedup_key}`;
    });
    expect(new Set(keys).size).toBe(2 * REQUESTS);
  });
});
