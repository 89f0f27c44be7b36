import { EMERGENCY } from '../support/emergency-policy';
import { notifyStage, type NotifyStage } from '../support/notify-stage';
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
