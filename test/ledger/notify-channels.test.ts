import { createServer } from 'node:http';
import { eventually } from '../support/eventually';
import { startMailServer, type MailServer } from '../support/mail-server';
import { pagerShape, slackShape, teamsShape } from '../support/notice-shapes';
import { notifyStage, type NotifyStage } from '../support/notify-stage';
import { field } from '../support/policy-fixture';
import { failing, lost, ok, type WebhookReceiver } from '../support/webhook-receiver';

let stage: NotifyStage;
beforeEach(async () => {
  stage = await notifyStage();
});
afterEach(() => stage.close());

const opened = (channels: readonly string[]) => [{ events: ['opened'], channels }];
const material = [field('environment', 'production'), field('rows', 12, 'number')];
const answer = (status: number, text: string) => (response: Parameters<typeof ok>[0]) =>
  void response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
const logged = () => stage.fresh.log.entries.map(({ level, fields, event }) => [level, event, fields] as const);

describe('Slack, Teams and PagerDuty', () => {
  it('get what their documents ask for, at the address that the settings name', async () => {
    await stage.relay({ routes: [{ events: ['opened', 'closed'], channels: ['slack', 'teams', 'pager'] }] });
    const asked = await stage.ask({ material });
    await stage.settled();
    await stage.answer(asked, 'allow');
    await stage.settled();
    const bodies = (receiver: WebhookReceiver, shape: { parse(value: unknown): unknown }) =>
      receiver.received.map(({ headers, body }) => [headers['content-type'], shape.parse(JSON.parse(body))]);
    const type = 'application/json; charset=utf-8';
    const { operationId } = asked.request;
    expect(bodies(stage.slack, slackShape)).toEqual([
      [type, expect.anything()],
      [type, expect.anything()],
    ]);
    expect(bodies(stage.teams, teamsShape)).toEqual([
      [type, expect.anything()],
      [type, expect.anything()],
    ]);
    expect(bodies(stage.pager, pagerShape)).toEqual([
      [
        type,
        expect.objectContaining({
          routing_key: 'R0123456789ABCDEF0123456789ABCDE',
          dedup_key: `${operationId}:1`,
          event_action: 'trigger',
        }),
      ],
      [
        type,
        {
          routing_key: 'R0123456789ABCDEF0123456789ABCDE',
          dedup_key: `${operationId}:1`,
          event_action: 'resolve',
        },
      ],
    ]);
    for (const { received } of [stage.slack, stage.teams]) {
      expect(received[0]!.body).toContain(`https://holdpoint.example/requests/${operationId}?revision=1`);
    }
  });

  it('are sent the same again after a lost answer and after a 5xx', async () => {
    stage.pager.answer(lost, failing(503), failing(202));
    await stage.relay({ routes: opened(['pager']) });
    await stage.ask({ material });
    await eventually(() => expect(stage.pager.received).toHaveLength(3));
    await stage.settled();
    const keys = stage.pager.received.map(({ body }) => (JSON.parse(body) as { dedup_key: string }).dedup_key);
    expect(new Set(keys).size).toBe(1);
    expect(await stage.deliveries('notify:pager')).toMatchObject([{ attempts: 3, state: 'over', error: null }]);
  });

  it('are left alone as long as a 429 asks for, on every lane of the channel', async () => {
    stage.slack.answer(failing(429, { 'retry-after': '1' }), ok);
    await stage.relay({ routes: [{ events: ['opened', 'outcome'], channels: ['slack'] }] });
    await stage.ask();
    await eventually(() => expect(stage.slack.received).toHaveLength(1));
    const startedMs = performance.now();
    const other = await stage.ask({ server: 'billing' });
    await stage.answer(other, 'deny', 'no');
    await eventually(() => expect(stage.slack.received.length).toBeGreaterThan(1));
    expect(performance.now() - startedMs).toBeGreaterThan(900);
    await eventually(() => expect(stage.slack.received).toHaveLength(3));
    // Received a moment before it is noted.
    await eventually(async () =>
      expect(await stage.deliveries('notify:slack')).toContainEqual({
        id: '1:opened',
        attempts: 2,
        state: 'over',
        error: null,
      }),
    );
  });

  it.each([
    ['a hook that is gone', 404, 'no_service', 'HTTP 404: no_service'],
    [
      'a body that it does not take',
      400,
      'invalid_blocks\u001b[2K\nlevel=info',
      'HTTP 400: invalid_blocks⟦U+001B⟧[2K⟦U+000A⟧level=info',
    ],
    ['a redirect', 302, '', 'HTTP 302'],
    ['an address that repeats itself', 410, 'no /hook/T0/B0/slackcode here', 'HTTP 410: no /(secret) here'],
  ])('%s is given up at once, with its reason on record', async (_what, status, said, detail) => {
    stage.slack.answer(answer(status, said));
    await stage.relay({ routes: opened(['slack']) });
    await stage.ask();
    await eventually(async () => {
      expect(await stage.deliveries('notify:slack')).toEqual([
        { id: '1:opened', attempts: 1, state: 'givenUp', error: detail },
      ]);
    });
    expect(logged()).toContainEqual([
      'error',
      'event given up',
      expect.objectContaining({ endpoint: 'notify:slack', detail, retryInMs: null }),
    ]);
  });

  it('that refuse one message still get the next', async () => {
    stage.slack.answer(answer(400, 'invalid_blocks'), ok);
    await stage.relay({ routes: opened(['slack']) });
    await stage.ask();
    await eventually(() => expect(stage.slack.received).toHaveLength(1));
    await stage.ask({ server: 'billing' });
    await stage.settled();
    expect((await stage.deliveries('notify:slack')).map(({ state }) => state)).toEqual(['givenUp', 'over']);
  });

  it('are not told of an end while the opening is under way: an alert is never raised after it was resolved', async () => {
    let release: () => void = () => undefined;
    stage.pager.answer((response) => {
      release = () => void response.writeHead(202).end();
    }, failing(202));
    await stage.relay({ routes: opened(['pager']) });
    const asked = await stage.ask();
    await eventually(() => expect(stage.pager.received).toHaveLength(1));
    await stage.answer(asked, 'allow');
    await eventually(async () => {
      expect(await stage.deliveries('notify:pager')).toContainEqual({
        id: '1:allowed',
        attempts: 0,
        state: 'open',
        error: 'not sent: an earlier notice is under way',
      });
    });
    expect(stage.pager.received).toHaveLength(1);
    release();
    await eventually(() => expect(stage.pager.received).toHaveLength(2));
    expect(stage.pager.received.map(({ body }) => (JSON.parse(body) as { event_action: string }).event_action)).toEqual(
      ['trigger', 'resolve'],
    );
  });

  it('whose opening was perhaps told before its request closed are told of the end', async () => {
    stage.pager.answer(lost, failing(202));
    await stage.relay({ routes: opened(['pager']) }, { retryMs: 400 });
    const asked = await stage.ask();
    await eventually(() => expect(stage.pager.received).toHaveLength(1));
    await stage.answer(asked, 'allow');
    await eventually(() => expect(stage.pager.received).toHaveLength(2));
    expect(JSON.parse(stage.pager.received[1]!.body)).toMatchObject({ event_action: 'resolve' });
    expect(await stage.deliveries('notify:pager')).toMatchObject([
      { id: '1:opened', attempts: 1, state: 'over', error: 'not sent: it waits no more' },
      { id: '1:allowed', attempts: 1, state: 'over' },
    ]);
  });
});

describe('e-mail', () => {
  let mails: MailServer;
  beforeAll(async () => {
    mails = await startMailServer();
  });
  afterAll(() => mails.close());
  beforeEach(() => mails.refuse(null));
  const smtp = () => `smtp://hold:\${SMTP_PASSWORD}@127.0.0.1:${mails.port}`;
  const since = () => {
    const from = mails.received.length;
    return () => mails.received.slice(from);
  };

  it('goes to the people of the channel, as text and HTML, in one thread', async () => {
    const got = since();
    await stage.relay({
      routes: [{ events: ['opened', 'closed'], channels: ['mail'] }],
      smtp: smtp(),
      to: ['dba@ops.example', 'leads@ops.example'],
    });
    const asked = await stage.ask({ material: [field('payee', 'Ünïcode <b>\u202e</b>')] });
    await eventually(() => expect(got()).toHaveLength(1));
    await stage.answer(asked, 'deny', 'use the staging copy');
    await eventually(() => expect(got()).toHaveLength(2));
    const [first, second] = got();
    expect(first).toMatchObject({
      from: 'hold@ops.example',
      to: ['dba@ops.example', 'leads@ops.example'],
      user: 'hold',
      headers: {
        from: 'Holdpoint <hold@ops.example>',
        to: 'dba@ops.example, leads@ops.example',
        subject: expect.stringMatching(/^Approval asked: orders-db \/ delete_rows \(op_[0-9a-f]{8}\)$/),
        'message-id': expect.stringMatching(/^<holdpoint\.[0-9a-f]{40}@ops\.example>$/),
        'auto-submitted': 'auto-generated',
      },
    });
    expect(first!.text).toContain('payee (text): "Ünïcode <b>⟦U+202E⟧</b>"  ! bidi\n');
    expect(first!.html).toContain('&quot;Ünïcode &lt;b&gt;⟦U+202E⟧&lt;/b&gt;&quot;</code>  ! bidi</td>');
    expect(first!.html.match(/<a /g)).toHaveLength(1);
    expect(second!.headers['subject']).toBe(`Re: ${first!.headers['subject']}`);
    expect(second!.headers['references']).toBe(first!.headers['references']);
    expect(second!.headers['message-id']).not.toBe(first!.headers['message-id']);
    expect(second!.text).toContain('now: denied: nothing is executed\nreason: "use the staging copy"\n');
  });

  it('tells an outcome to its requester where the settings know an address, else to the people of the channel', async () => {
    const got = since();
    const routes = [{ events: ['outcome'], channels: ['mail'] }];
    await stage.relay({ routes, smtp: smtp(), more: { requesters: { 'user:amira': 'amira@ops.example' } } });
    await stage.answer(await stage.ask(), 'deny', 'no');
    await eventually(() => expect(got()).toHaveLength(1));
    const requester = { subject: 'user:zoe', agent: 'deployer', chain: [] };
    await stage.answer(await stage.ask({ requester }), 'deny', 'no');
    await eventually(() => expect(got()).toHaveLength(2));
    expect(got().map(({ to, text }) => [to, /^asked by: (.*)$/m.exec(text)?.[1]])).toEqual([
      [['amira@ops.example'], 'user:amira through agent deployer'],
      [['dba@ops.example'], 'user:zoe through agent deployer'],
    ]);
  });

  it('to nobody is not sent, and says why', async () => {
    await stage.relay({ routes: [{ events: ['outcome'], channels: ['mail'] }], smtp: smtp(), to: [] });
    await stage.answer(await stage.ask(), 'deny', 'no');
    await stage.settled();
    expect(await stage.deliveries('notify:mail:outcome')).toEqual([
      { id: '1:denied', attempts: 0, state: 'over', error: 'not sent: no address of its requester is known' },
    ]);
  });

  it.each([
    ['recipient', 550, 'no such user', /550 no such user/],
    ['content', 554, 'spam', /554 spam/],
  ] as const)('that is refused for its %s is given up at once', async (at, code, text, error) => {
    await mails.refuse({ at, code, text });
    await stage.relay({ routes: opened(['mail']), smtp: smtp() });
    await stage.ask();
    await eventually(async () => {
      expect(await stage.deliveries('notify:mail')).toEqual([
        { id: '1:opened', attempts: 1, state: 'givenUp', error: expect.stringMatching(error) },
      ]);
    });
  });

  it.each([
    ['recipient', 451, 'try later'],
    ['content', 452, 'no room'],
    ['login', 535, 'the-password is not known'],
  ] as const)('that is put off at the %s is sent again, and the password is in no log', async (at, code, text) => {
    const got = since();
    await mails.refuse({ at, code, text });
    await stage.relay({ routes: opened(['mail']), smtp: smtp() });
    await stage.ask();
    await eventually(async () => expect((await stage.deliveries('notify:mail'))[0]?.attempts).toBeGreaterThan(1));
    await mails.refuse(null);
    await eventually(() => expect(got()).toHaveLength(1));
    await stage.settled();
    expect(JSON.stringify(logged())).not.toContain('the-password');
  });

  it('that some addresses refuse is not sent to the others again', async () => {
    const got = since();
    await mails.refuse({ at: 'recipient', code: 550, text: 'no such user', only: 'gone@ops.example' });
    await stage.relay({ routes: opened(['mail']), smtp: smtp(), to: ['gone@ops.example', 'dba@ops.example'] });
    await stage.ask();
    await stage.settled();
    expect(got().map(({ to }) => to)).toEqual([['dba@ops.example']]);
    expect(logged()).toContainEqual([
      'warn',
      'mail not taken for some addresses',
      expect.objectContaining({ refused: 1 }),
    ]);
  });

  it('is not handed to a server whose certificate nobody vouches for', async () => {
    const impostor = await startMailServer('tls');
    await stage.relay({ routes: opened(['mail']), smtp: `smtps://hold:\${SMTP_PASSWORD}@127.0.0.1:${impostor.port}` });
    await stage.ask();
    await eventually(async () => {
      expect(await stage.deliveries('notify:mail')).toMatchObject([
        { state: 'open', error: expect.stringMatching(/certificate/) },
      ]);
    });
    expect(impostor.received).toEqual([]);
    await impostor.close();
  });

  it('waits for a server that is away or says nothing', async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const address = silent.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await stage.relay({ routes: opened(['mail']), smtp: `smtp://127.0.0.1:${port}` }, { timeoutMs: 200 });
    await stage.ask();
    await eventually(async () => {
      expect(await stage.deliveries('notify:mail')).toMatchObject([
        { state: 'open', error: expect.stringMatching(/not taken within 200 ms|timeout|Greeting never received/i) },
      ]);
    });
    silent.closeAllConnections();
    await new Promise((resolve) => silent.close(resolve));
    await eventually(async () => {
      expect(await stage.deliveries('notify:mail')).toMatchObject([{ error: expect.stringContaining('ECONNREFUSED') }]);
    });
  });
});
