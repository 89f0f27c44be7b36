import { MINUTE_MS } from '../support/clock';
import { slackShape } from '../support/notice-shapes';
import { notifyStage, type NotifyStage } from '../support/notify-stage';
import { askOf } from '../support/ledger-fixture';
import { eventually } from '../support/eventually';
import type { WebhookReceiver } from '../support/webhook-receiver';

let stage: NotifyStage;
beforeEach(async () => {
  stage = await notifyStage();
});
afterEach(() => stage.close());

/** What the messages of Slack say first, in order. */
function headlines({ received }: WebhookReceiver): readonly string[] {
  return received.map(({ body }) => {
    const [header] = slackShape.parse(JSON.parse(body)).blocks;
    return header?.type === 'header' ? header.text.text : '';
  });
}

const otherRule = { ...askOf(), rule: { id: 'other', version: 'v1' } };

describe('a route', () => {
  it('tells of the opening, each escalation and the end, each once', async () => {
    await stage.relay({ routes: [{ channels: ['slack'] }] });
    const asked = await stage.ask();
    await stage.settled();
    stage.clock.advance(10 * MINUTE_MS);
    await stage.ledger.advanceRequest(asked.request.operationId);
    await stage.settled();
    await stage.answer(asked, 'allow');
    await stage.settled();
    expect(headlines(stage.slack)).toEqual([
      'Approval asked',
      'Approval escalated to level 1',
      'Approval request allowed',
    ]);
  });

  it('leads by rule, server and level, and to each channel once, however many routes lead there', async () => {
    const routes = [
      { rules: ['production-migrations'], events: ['opened'], channels: ['slack'] },
      { servers: ['orders-db'], events: ['opened'], channels: ['slack'] },
      { servers: ['orders-db'], levels: [1], events: ['opened', 'escalated'], channels: ['teams'] },
      { rules: ['other'], events: ['opened'], channels: ['pager'] },
    ];
    await stage.relay({ routes });
    const asked = await stage.ask();
    await stage.ask({ ask: otherRule, server: 'billing' });
    await stage.settled();
    const counts = () => [stage.slack, stage.teams, stage.pager].map(({ received }) => received.length);
    expect(counts()).toEqual([1, 0, 1]);
    stage.clock.advance(10 * MINUTE_MS);
    await stage.ledger.advanceRequest(asked.request.operationId);
    await stage.settled();
    expect(counts()).toEqual([1, 1, 1]);
  });

  it('does not tell of what was closed before it could be told', async () => {
    const relay = await stage.relay({ routes: [{ channels: ['slack'] }] });
    await relay.stop();
    const asked = await stage.ask();
    await stage.answer(asked, 'deny', 'no');
    await stage.relay({ routes: [{ channels: ['slack'] }] });
    await eventually(async () =>
      expect(await stage.deliveries('notify:slack')).toEqual([
        { id: '1:opened', attempts: 0, state: 'over', error: 'not sent: it waits no more' },
        { id: '1:denied', attempts: 0, state: 'over', error: 'not sent: its opening was not told here' },
      ]),
    );
    expect(headlines(stage.slack)).toEqual([]);
  });

  it('that asks for ends alone gets them without an opening', async () => {
    await stage.relay({ routes: [{ events: ['closed'], channels: ['slack'] }] });
    const asked = await stage.ask();
    await stage.answer(asked, 'deny', 'no');
    await stage.settled();
    expect(headlines(stage.slack)).toEqual(['Approval request denied']);
  });

  it('whose settings change meanwhile drops what it does not lead any more', async () => {
    const relay = await stage.relay({ routes: [{ events: ['opened'], channels: ['slack'], after: '2m' }] });
    await stage.ask();
    await stage.settled();
    await relay.stop();
    await stage.relay({ routes: [{ rules: ['other'], events: ['opened'], channels: ['slack'] }] });
    stage.clock.advance(2 * MINUTE_MS);
    await stage.settled();
    expect(await stage.deliveries('notify:slack')).toEqual([
      { id: '1:opened', attempts: 0, state: 'over', error: 'not sent: no route leads here' },
    ]);
  });
});

describe('a staggered route', () => {
  const routes = [
    { events: ['opened', 'closed'], channels: ['slack'] },
    { events: ['opened', 'closed'], channels: ['pager'], after: '2m' },
  ];

  it('tells of what still waits then, though another process relays by then, and not sooner', async () => {
    const first = await stage.relay({ routes });
    await stage.ask();
    await stage.settled();
    await first.stop();
    stage.clock.advance(2 * MINUTE_MS - 10_000);
    await stage.relay({ routes, store: await stage.fresh.another() });
    await stage.ask({ ask: otherRule });
    await stage.settled();
    expect([stage.slack.received.length, stage.pager.received.length]).toEqual([2, 0]);
    stage.clock.advance(10_000);
    await eventually(() => expect(stage.pager.received).toHaveLength(1));
    expect(JSON.parse(stage.pager.received[0]!.body)).toMatchObject({ event_action: 'trigger' });
  });

  it('tells nothing of what was decided before, not even the end', async () => {
    await stage.relay({ routes });
    const asked = await stage.ask();
    await stage.settled();
    await stage.answer(asked, 'allow');
    stage.clock.advance(2 * MINUTE_MS);
    await stage.settled();
    expect([headlines(stage.slack), stage.pager.received.length]).toEqual([
      ['Approval asked', 'Approval request allowed'],
      0,
    ]);
  });

  it('waits as long as the quickest of its kind', async () => {
    const two = [
      { events: ['opened'], channels: ['slack'], after: '10m' },
      { events: ['opened'], channels: ['slack'], after: '1m', levels: [0] },
    ];
    await stage.relay({ routes: two });
    await stage.ask();
    await stage.settled();
    stage.clock.advance(MINUTE_MS);
    await stage.settled();
    expect(headlines(stage.slack)).toEqual(['Approval asked']);
  });
});

describe('a reminder', () => {
  const routes = [{ events: ['reminder'], channels: ['slack'] }];

  it('comes once, its time before the deadline, where the request still waits', async () => {
    await stage.relay({ routes });
    await stage.ask();
    await stage.settled();
    stage.clock.advance(25 * MINUTE_MS - 10_000);
    await stage.settled();
    expect(headlines(stage.slack)).toEqual([]);
    stage.clock.advance(10_000);
    await stage.settled();
    stage.clock.advance(MINUTE_MS);
    await stage.settled();
    expect(headlines(stage.slack)).toEqual(['Still waiting for approval']);
    expect(stage.slack.received[0]!.body).toMatch(/\(in (4 min 5\d s|5 min)\), then it expires/);
  });

  it('is dropped where the request is closed by then, or its deadline has passed', async () => {
    const first = await stage.relay({ routes });
    const asked = await stage.ask();
    await stage.ask({ ask: otherRule });
    await stage.settled();
    await stage.answer(asked, 'allow');
    await first.stop();
    stage.clock.advance(31 * MINUTE_MS);
    await stage.relay({ routes });
    await stage.settled();
    expect(stage.slack.received).toEqual([]);
    expect(await stage.deliveries('notify:slack:reminder')).toEqual([
      { id: '1:opened', attempts: 0, state: 'over', error: 'not sent: it waits no more' },
      { id: '1:opened', attempts: 0, state: 'over', error: 'not sent: it waits no more' },
    ]);
  });

  it('is none for a request that waits no longer than that', async () => {
    await stage.relay({ routes });
    await stage.ask({ deadlineMs: 5 * MINUTE_MS });
    await stage.settled();
    expect(await stage.deliveries('notify:slack:reminder')).toEqual([]);
  });

  it('comes as the policy says too, while a request is kept waiting', async () => {
    await stage.relay({ routes });
    const keep = { afterMs: 10 * MINUTE_MS, then: 'keepWaiting', remindEveryMs: 10 * MINUTE_MS } as const;
    const asked = await stage.ask({ ask: { ...askOf(), escalate: [], deadline: keep } });
    stage.clock.advance(10 * MINUTE_MS);
    await stage.ledger.advanceRequest(asked.request.operationId);
    await stage.settled();
    expect(headlines(stage.slack)).toEqual(['Still waiting for approval']);
  });
});

describe('an outcome', () => {
  const routes = [{ events: ['outcome'], channels: ['slack'] }];
  const executed = { outcome: 'executed', result: '{}', isError: false, evidence: 'answer' } as const;

  it('is told for what people were asked about, with the subject of its requester', async () => {
    await stage.relay({ routes });
    const asked = await stage.ask();
    await stage.answer(asked, 'allow');
    await stage.dispatch(asked.call);
    await stage.ledger.recordOutcome(asked.request.operationId, executed);
    const call = await stage.ungated();
    await stage.ledger.recordOutcome(call.ref.operationId, executed);
    await stage.settled();
    expect(headlines(stage.slack)).toEqual(['Outcome: executed']);
    expect(stage.slack.received[0]!.body).toContain('"user:amira"');
    expect((await stage.deliveries('notify:slack:outcome')).map(({ id, error }) => [id, error])).toEqual([
      ['executed', null],
      ['executed', 'not sent: nobody was asked about it'],
    ]);
  });

  it.each([
    ['denied', 'Outcome: denied'],
    ['expired', 'Outcome: expired'],
    ['withdrawn', 'Outcome: withdrawn'],
  ] as const)('is told of what was %s', async (state, headline) => {
    await stage.relay({ routes });
    const asked = await stage.ask();
    const { operationId } = asked.request;
    if (state === 'denied') await stage.answer(asked, 'deny', 'use the staging copy');
    if (state === 'expired') stage.clock.advance(30 * MINUTE_MS);
    if (state === 'withdrawn') await stage.ledger.withdraw(operationId, 'not needed');
    else await stage.ledger.advanceRequest(operationId);
    await stage.settled();
    expect(headlines(stage.slack)).toEqual([headline]);
  });
});

describe('an unknown outcome', () => {
  const routes = [{ events: ['unknown'], channels: ['slack', 'pager'] }];
  const unknown = { outcome: 'unknown', detail: 'no answer' } as const;
  const executed = { outcome: 'executed', result: '{}', isError: false, evidence: 'lookUp' } as const;
  const alerts = () =>
    stage.pager.received.map(({ body }) => {
      const { event_action, dedup_key } = JSON.parse(body) as Record<string, string>;
      return [event_action, dedup_key?.replace(/^op_[0-9a-f]+/, 'op')];
    });

  it('is told, also of a call that nobody was asked about, and so is that it was settled', async () => {
    await stage.relay({ routes });
    const { ref } = await stage.ungated();
    await stage.ledger.recordOutcome(ref.operationId, unknown);
    await stage.settled();
    await stage.ledger.settle({ operationId: ref.operationId, outcome: 'executed', by: 'omar', reason: 'row 812' });
    await stage.settled();
    expect(headlines(stage.slack)).toEqual([
      'Outcome unknown: a person has to find out',
      'Outcome established: executed',
    ]);
    expect(alerts()).toEqual([
      ['trigger', 'op:unknown'],
      ['resolve', 'op:unknown'],
    ]);
    expect(stage.slack.received.map(({ body }) => body).join()).not.toMatch(/omar|812/);
  });

  it('that a look-up establishes ends the alert; an end that was never unknown is no news', async () => {
    await stage.relay({ routes });
    const [first, second] = [await stage.ungated(), await stage.ungated()];
    await stage.ledger.recordOutcome(first.ref.operationId, unknown);
    await stage.settled();
    await stage.ledger.recordOutcome(first.ref.operationId, executed);
    await stage.ledger.recordOutcome(second.ref.operationId, executed);
    await stage.settled();
    expect(alerts()).toEqual([
      ['trigger', 'op:unknown'],
      ['resolve', 'op:unknown'],
    ]);
  });
});
