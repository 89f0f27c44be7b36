import { waitingLines } from '../../examples/console-api/waiting';
import { maskSecrets } from '../../activities/masking';
import type { JsonObject } from '../../core/json';
import { CONSOLE_POLICY, answering, consoleApi, type ConsoleApi, type PersonName } from '../support/console-api';
import { askOf, prepared } from '../support/ledger-fixture';

let api: ConsoleApi;

beforeEach(async () => {
  api = await consoleApi();
});

afterEach(() => api.close());

const of = (subject: string) => ({ subject: `user:${subject}`, agent: 'bot', chain: [] });

interface Items {
  readonly items: readonly {
    readonly operationId?: string;
    readonly request: { readonly operationId: string; readonly requester: { readonly subject: string } };
  }[];
  readonly next: string | null;
}

async function idsIn(name: PersonName, path: string): Promise<readonly string[]> {
  const { body } = await api.as(name).get(path);
  return (body as Items).items.map((item) => item.operationId ?? item.request.operationId);
}

/** Allows it and sends it, and leaves its outcome unknown. */
async function sent(subject: string): Promise<string> {
  const call = prepared({ requester: of(subject), turnId: `turn-of-${subject}` });
  const [opened] = await api.ledger.openCalls([call.opening(await api.active())]);
  if (opened?.kind !== 'state' || opened.state.status !== 'pending') throw new Error('not pending');
  const { request } = opened.state;
  await api.as('eli').post(`/requests/${request.operationId}/decisions`, answering(request, 'allow'));
  await api.ledger.dispatch(call.dispatching(await api.active()));
  await api.ledger.recordOutcome(request.operationId, { outcome: 'unknown', detail: 'no answer came' });
  return request.operationId;
}

it('lists only what somebody asked for or may review; everything for an operator [TIME2-5]', async () => {
  const amiras = await api.ask({ requester: of('amira') });
  const viks = await api.ask({ requester: of('vik') });
  const leads = { ...askOf(), steps: [], escalate: [] };
  const step = { kind: 'rule', approvers: { groups: [], people: ['lena'], quorum: 1 }, selfApproval: false } as const;
  const lenas = await api.ask({ requester: of('vik'), ask: { ...leads, steps: [step] } });
  const all = [amiras, viks, lenas].map(({ operationId }) => operationId);
  expect(await idsIn('omar', '/requests')).toEqual(all);
  expect(await idsIn('amira', '/requests')).toEqual([amiras.operationId]);
  expect(await idsIn('vik', '/requests')).toEqual([viks.operationId, lenas.operationId]);
  expect(await idsIn('dana', '/requests')).toEqual([amiras.operationId, viks.operationId]);
  expect(await idsIn('lena', '/requests')).toEqual(all);
  // lena is asked about the others on escalation only.
  expect(await idsIn('lena', '/requests?mine=true')).toEqual([lenas.operationId]);
  expect(await idsIn('omar', '/requests?mine=true')).toEqual([]);
  expect(await idsIn('omar', '/requests?requester=user:vik')).toEqual([viks.operationId, lenas.operationId]);
  expect(await idsIn('omar', '/requests?server=another')).toEqual([]);
});

it('tells operations and grants to those whom they concern [TIME2-5]', async () => {
  const amiras = await sent('amira');
  const viks = await sent('vik');
  expect(await idsIn('omar', '/operations')).toEqual([viks, amiras]);
  expect(await idsIn('amira', '/operations?state=unknown')).toEqual([amiras]);
  expect(await idsIn('amira', '/operations?state=executed')).toEqual([]);
  expect(await idsIn('dana', '/operations')).toEqual([viks, amiras]);
  expect(await idsIn('vik', '/grants?all=true')).toEqual([viks]);
  expect(await idsIn('vik', '/grants')).toEqual([]);
});

it('answers what is another’s as what does not exist, to the byte [FORGE-3]', async () => {
  const request = await api.ask({ requester: of('amira') });
  const operation = await sent('dana');
  const missing = `op_${'0'.repeat(40)}`;
  for (const path of ['/requests/', '/operations/']) {
    const none = await api.as('vik').get(path + missing);
    expect(none.status).toBe(404);
    for (const id of [request.operationId, request.shortId, request.operationId.slice(0, 20), operation]) {
      const theirs = await api.as('vik').get(path + id);
      expect([theirs.status, theirs.text]).toEqual([404, none.text]);
    }
  }
});

it('lets only operators settle and revoke; for others there is nothing to', async () => {
  const operation = await sent('amira');
  const settlement = { outcome: 'executed', reason: 'the rows are gone' };
  const path = `/operations/${operation}/settlement`;
  const none = await api.as('dana').post(`/operations/op_${'0'.repeat(40)}/settlement`, settlement);
  for (const name of ['dana', 'amira', 'vik'] as const) {
    const answer = await api.as(name).post(path, settlement);
    expect([answer.status, answer.text]).toEqual([404, none.text]);
  }
  const answer = await api.as('omar').post(path, settlement);
  expect([answer.status, answer.body]).toEqual([200, { operationId: operation, outcome: 'executed' }]);
  const again = await api.as('omar').post(path, settlement);
  expect([again.status, again.body]).toMatchObject([409, { code: 'NOT_SETTLED' }]);
  const { body } = await api.as('omar').get(`/operations/${operation}`);
  expect(body).toMatchObject({
    operation: { state: 'executed', evidence: 'settlement', settledBy: 'omar' },
    revisions: [{ standing: { state: 'allowed' } }],
    decisions: [{ reviewer: 'eli', answer: 'allow', verified: true }],
  });
});

it('ends a grant once, and says of another try that it had ended', async () => {
  const window = { kind: 'window', uses: 3, durationMs: 3_600_000, total: {} } as const;
  const request = await api.ask({ ask: askOf({ validity: window }) });
  await api.as('dana').post(`/requests/${request.operationId}/decisions`, answering(request, 'allow'));
  const { body } = await api.as('omar').get('/grants');
  const [grant] = (body as { readonly items: readonly { readonly grantId: string }[] }).items;
  const path = `/grants/${grant?.grantId ?? ''}/revocation`;
  const reason = { reason: 'the incident is over' };
  expect((await api.as('dana').post(path, reason)).status).toBe(404);
  const revoked = await api.as('omar').post(path, reason);
  expect(revoked.body).toMatchObject({ uses: 0, maxUses: 3, revokedBy: 'omar', revokedReason: reason.reason });
  const again = await api.as('omar').post(path, reason);
  expect([again.status, again.body]).toMatchObject([409, { code: 'NOT_REVOKED' }]);
  expect((await api.as('omar').post('/grants/none/revocation', reason)).status).toBe(404);
});

it('answers the token’s person as the active policy knows them', async () => {
  const me = await api.as('omar').get('/me');
  expect(me.body).toEqual({ name: 'omar', groups: [], isOperator: true, signedInAtMs: 1_796_121_000_000 });
});

it('has a secret at any depth as its keyed token, in every answer, and never the policy [SCREEN-12]', async () => {
  const given: JsonObject = { db: { password: 'hunter2-raw' }, users: [{ token: 'tok-raw', name: 'u' }], sql: 'ADD a' };
  const masked = maskSecrets(given, ['/db/password', '/users/0/token'], Buffer.alloc(32, 7));
  const request = await api.ask({ arguments: masked });
  await api.as('dana').post(`/requests/${request.operationId}/decisions`, answering(request, 'deny'));
  const paths = [`/requests/${request.operationId}`, `/operations/${request.operationId}`, '/requests?state=denied'];
  for (const path of paths) {
    const { text } = await api.as('omar').get(path);
    expect(text).toContain('secret:');
    expect(text).not.toMatch(/hunter2-raw|tok-raw/);
    expect(text).not.toMatch(/ed25519:|"policy":|"people":\{"dana"/);
  }
});

it('answers in ASCII, so that no text of others acts upon a terminal; parsed, it is what was stored', async () => {
  const hostile = '\u202edlrow\u001b[2K\u200b – ünïcode';
  const request = await api.ask({ arguments: { text: hostile } });
  const { text, body } = await api.as('dana').get(`/requests/${request.operationId}`);
  expect(text).toMatch(/^[\x20-\x7e]+$/);
  expect(body).toMatchObject({ request: { arguments: { text: hostile } } });
});

it('gives every request once over pages, whatever is decided meanwhile', async () => {
  const ids: string[] = [];
  for (let index = 0; index < 7; index += 1) {
    const { operationId } = await api.ask({ requester: of(`user${index}`), arguments: { index } });
    ids.push(operationId);
  }
  const first = (await api.as('omar').get('/requests?limit=3')).body as Items;
  await api.ledger.withdraw(ids[1]!, 'taken back');
  const second = (await api.as('omar').get(`/requests?limit=3&cursor=${first.next ?? ''}`)).body as Items;
  const third = (await api.as('omar').get(`/requests?limit=3&cursor=${second.next ?? ''}`)).body as Items;
  const pages = [first, second, third].map(({ items }) => items.map(({ request }) => request.operationId));
  expect(pages).toEqual([ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)]);
  expect(third.next).toBeNull();
});

it('shows a revision that is not the latest, and none that never was', async () => {
  const request = await api.ask();
  const path = `/requests/${request.operationId}`;
  expect((await api.as('dana').get(`${path}?revision=1`)).body).toMatchObject({ latestRevision: 1 });
  expect((await api.as('dana').get(`${path}?revision=2`)).status).toBe(404);
});

it('knows nobody whom the active policy does not list', async () => {
  const { dana: _dana, ...people } = CONSOLE_POLICY.people;
  await api.apply({ ...CONSOLE_POLICY, people });
  const answer = await api.as('dana').get('/me');
  expect([answer.status, answer.body]).toMatchObject([401, { code: 'UNAUTHENTICATED' }]);
  expect(answer.headers.get('www-authenticate')).toBe('Bearer');
});

it('serves the example: a line for each request that waits for the token’s person', async () => {
  const request = await api.ask({ requester: of('u\u202e1') });
  const lines = await waitingLines(api.url, 'dana');
  expect(lines).toEqual([
    expect.stringMatching(
      new RegExp(`^${request.shortId}  orders-db/delete_rows  for user:u\\\\u202e1, (29|30) min left$`),
    ),
  ]);
  expect(await waitingLines(api.url, 'lena')).toEqual([]);
  await expect(waitingLines(api.url, 'nobody')).rejects.toThrow('UNAUTHENTICATED');
});
