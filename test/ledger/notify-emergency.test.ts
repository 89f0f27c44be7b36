import { readGauges } from '../../ledger/metrics';
import { MINUTE_MS } from '../support/clock';
import { EMERGENCY } from '../support/emergency-policy';
import { eventually } from '../support/eventually';
import { notifyStage, type Asked, type NotifyStage } from '../support/notify-stage';
import { field } from '../support/policy-fixture';

let stage: NotifyStage;
beforeEach(async () => {
  stage = await notifyStage('sqlite', EMERGENCY);
});
afterEach(() => stage.close());

const texts = ({ received }: NotifyStage['slack']) => received.map(({ body }) => body);

it('tells those whom an emergency skipped at once, where they are asked, however long their route waits [WHO-18] [TIME2-15]', async () => {
  await stage.relay({
    routes: [
      { rules: ['production-migrations'], events: ['opened'], channels: ['slack'], after: '20m' },
      { rules: ['production-migrations'], events: ['opened', 'unknown'], channels: ['pager'], after: '20m' },
      { rules: ['other'], events: ['opened'], channels: ['teams'] },
    ],
  });
  const asked = await stage.ask({ material: [field('environment', 'production')] });
  await stage.settled();
  expect(stage.slack.received).toHaveLength(0);
  await stage.allowInEmergency(asked);
  await stage.settled();
  const [told, ...more] = texts(stage.slack);
  expect(more).toEqual([]);
  for (const said of [
    'EMERGENCY: your approval was skipped',
    'production-migrations',
    'skipped under emergency rule',
    'break-glass',
    'INC-7',
    'production',
    'by one of those who were skipped',
    `https://holdpoint.example/retrospectives#gr_${asked.request.operationId.slice(3)}.1`,
  ])
    expect(told).toContain(said);
  // What the reviewer wrote is shown, and makes no link and calls nobody.
  expect(told).not.toContain('https://evil.example');
  expect(told).not.toContain(' @all');
  const alarm = texts(stage.pager).find((body) => body.includes('EMERGENCY')) ?? '{}';
  expect(JSON.parse(alarm)).toMatchObject({
    dedup_key: `${asked.request.operationId}:1:emergency`,
    event_action: 'trigger',
    payload: { severity: 'critical', class: 'emergency' },
  });
  expect(stage.teams.received).toHaveLength(0);
});

it('leads an emergency to further channels that ask for it alone, and tells of it once', async () => {
  await stage.relay({ routes: [{ events: ['emergency'], channels: ['teams'] }] });
  const asked = await stage.ask();
  await stage.allowInEmergency(asked);
  await stage.dispatch(asked.call).catch(() => undefined);
  await stage.settled();
  expect(texts(stage.teams).filter((body) => body.includes('EMERGENCY'))).toHaveLength(1);
  expect(stage.teams.received).toHaveLength(1);
});

describe('the review of an emergency', () => {
  const routes = [{ rules: ['production-migrations'], events: ['opened'], channels: ['slack', 'pager'] }];
  const grantOf = ({ request }: Asked) => `gr_${request.operationId.slice(3)}.1`;
  const due = ({ received }: NotifyStage['slack']) =>
    received.map(({ body }) => body).filter((body) => body.includes('Review of an emergency is due'));

  it('is told of again once, by each route that told of it, shortly before it is due while it is open [TIME2-15]', async () => {
    const relay = await stage.relay({ routes });
    const asked = await stage.ask();
    await stage.allowInEmergency(asked);
    stage.clock.advance(8 * 60 * MINUTE_MS - 6 * MINUTE_MS);
    await stage.settled();
    expect(due(stage.slack)).toEqual([]);
    stage.clock.advance(MINUTE_MS);
    await eventually(() => expect([due(stage.slack), due(stage.pager)].map(({ length }) => length)).toEqual([1, 1]));
    for (const said of ['INC-7', 'break-glass', `/retrospectives#${grantOf(asked)}`])
      expect(due(stage.slack)[0]).toContain(said);
    expect(due(stage.slack)[0]).toMatch(/due .* \(in (4 min 5\d s|5 min)\)/);
    expect(JSON.parse(due(stage.pager)[0] ?? '{}')).toMatchObject({
      dedup_key: `${asked.request.operationId}:1:emergency`,
      event_action: 'trigger',
    });
    await relay.stop();
    const at = { nowMs: stage.clock.nowMs(), policy: null };
    expect((await readGauges(stage.fresh.store.db, at)).deliveryResults).toEqual([
      { channel: 'pagerduty', delivered: 2, failed: 0, givenUp: 0 },
      { channel: 'slack', delivered: 2, failed: 0, givenUp: 0 },
    ]);
    await stage.relay({ routes });
    stage.clock.advance(60 * MINUTE_MS);
    await stage.settled();
    expect(due(stage.slack)).toHaveLength(1);
  });

  it('is not told of again once it is closed', async () => {
    await stage.relay({ routes });
    const asked = await stage.ask();
    await stage.allowInEmergency(asked);
    const review = { grantId: grantOf(asked), finding: 'justified', by: 'r1', note: 'the replica was gone' } as const;
    expect(await stage.ledger.closeRetrospective(review)).toEqual({ ok: true });
    stage.clock.advance(9 * 60 * MINUTE_MS);
    await stage.settled();
    expect(due(stage.slack)).toEqual([]);
    expect(await stage.deliveries('notify:slack:reminder')).toEqual([
      { id: '1:emergency:allowed', attempts: 0, state: 'over', error: 'not sent: it is reviewed' },
    ]);
  });

  it('that is due sooner than a reminder would come is told of once only', async () => {
    await stage.relay({ routes, more: { reminderBefore: '8h' } });
    await stage.allowInEmergency(await stage.ask());
    stage.clock.advance(9 * 60 * MINUTE_MS);
    await stage.settled();
    expect(await stage.deliveries('notify:slack:reminder')).toEqual([]);
  });
});
