import type { ApprovalRequest } from '../../client';
import { migrate, read, remove, someone } from '../support/calls';
import { eventually } from '../support/eventually';
import { startHarness, type Harness } from '../support/harness';
import { outcomes, sendUpdate, statuses } from '../support/messages';

const KIB = 1024;

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
}, 30_000);
afterAll(() => harness.close());
afterEach(async () => {
  for (const tool of ['read_rows', 'delete_rows', 'plan_migration']) harness.tools.behave(tool, undefined);
  await harness.applyPolicy();
});

const lengthOf = (request: ApprovalRequest) => (request.arguments['sql'] as string).length;
const text = (kib: number) => 'x'.repeat(kib * KIB);

describe('results', () => {
  test.each([3, 5])(
    'a result of %d MiB is one run; the turn carries its digest and size, the client gets the whole [ENG-08]',
    async (mib) => {
      harness.tools.behave('delete_rows', { kind: 'big', chars: mib * KIB * KIB }, 1);
      const turn = await harness.start([remove('c1', { id: mib })], { requester: someone() });
      const [request] = await harness.requests(turn);
      await harness.decide(request!, 'allow');
      const [result] = await turn.results();
      expect(result!.end).toMatchObject({
        outcome: 'executed',
        result: { kind: 'stored', isError: false, digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string },
      });
      expect(result!.textForModel).toHaveLength(mib * KIB * KIB);
      expect(harness.tools.runs.filter((run) => run.arguments['id'] === mib)).toHaveLength(1);
      const stored = await harness.ledger.operation(request!.operationId);
      expect(stored!.result!.length).toBeGreaterThan(mib * KIB * KIB);
    },
  );

  test('a result just under the bound of a history ends its turn', async () => {
    harness.tools.behave('read_rows', { kind: 'big', chars: KIB * KIB - 100 }, 1);
    const turn = await harness.start([read()], { requester: someone() });
    const [result] = await turn.results();
    expect(result!.textForModel).toHaveLength(KIB * KIB - 100);
  });

  test('many large results end their turn, each whole and in its place', async () => {
    harness.tools.behave('read_rows', { kind: 'big', chars: 900 * KIB });
    const turn = await harness.start(
      ['c1', 'c2', 'c3', 'c4', 'c5'].map((id) => read(id)),
      { requester: someone() },
    );
    const results = await turn.results();
    expect(results.map((result) => [result.callId, result.textForModel.length])).toEqual(
      ['c1', 'c2', 'c3', 'c4', 'c5'].map((id) => [id, 900 * KIB]),
    );
  });
});

describe('requests', () => {
  test('cards for which a turn has no room are refused one by one; the others are shown whole, decided and run', async () => {
    const ids = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7'];
    const turn = await harness.start(
      ids.map((id) => migrate(id, { sql: `${id}${text(250)}` })),
      { requester: someone() },
    );
    const requests = await harness.requests(turn, 2);
    expect(requests.map((request) => lengthOf(request))).toEqual([256_002, 256_002]);
    for (const request of requests) expect((await harness.decide(request, 'allow')).code).toBe('accepted');
    const results = await turn.results();
    expect(results.map((result) => result.outcome)).toEqual([
      'executed',
      'executed',
      ...Array<string>(5).fill('refused'),
    ]);
    expect(results[2]!.end).toMatchObject({ code: 'CARD_TOO_LARGE' });
  });

  test('50 calls, ten of which would be shown as 20,000 escapes each, fail no task', async () => {
    const sql = '\u200b'.repeat(20_000);
    const calls = Array.from({ length: 50 }, (_, index) =>
      index < 10 ? migrate(`c${index}`, { sql }) : read(`c${index}`),
    );
    const turn = await harness.start(calls, { requester: someone() });
    expect((await statuses(turn)).slice(0, 10)).toContain('pending');
    await turn.withdraw();
    expect(await turn.results()).toHaveLength(50);
  });

  test('a turn whose results and cards are large shows where it stands while it runs', async () => {
    harness.tools.behave('read_rows', { kind: 'big', chars: 30 * KIB });
    const reads = Array.from({ length: 30 }, (_, index) => read(`r${index}`));
    const cards = [205, 206, 207].map((kib) => migrate(`m${kib}`, { sql: text(kib) }));
    const turn = await harness.start([...reads, ...cards], { requester: someone() });
    await harness.requests(turn, 3);
    const state = await eventually(async () => {
      const { calls: shown } = await turn.snapshot();
      expect(shown.slice(0, 30).map((call) => call.state.status)).toEqual(Array<string>(30).fill('ended'));
      return shown[0]!.state;
    });
    expect(state).toMatchObject({ end: { outcome: 'executed', result: { kind: 'stored' } } });
    await turn.withdraw();
    const results = await turn.results();
    expect(results.slice(0, 30).map((result) => result.textForModel.length)).toEqual(Array<number>(30).fill(30 * KIB));
  });

  test('every revision of large requests is in the events, whole, while the turn waits and after its end', async () => {
    const requester = someone();
    const turn = await harness.start([migrate('c1', { sql: text(250) }), migrate('c2', { sql: text(249) })], {
      requester,
    });
    const first = await harness.requests(turn, 2);
    harness.tools.setVersion(8);
    for (const request of first) await harness.decide(request, 'allow');
    const second = await eventually(async () => {
      const open = await harness.requests(turn, 2);
      expect(open.map((request) => request.revision)).toEqual([2, 2]);
      return open;
    });
    harness.tools.setVersion(7);
    const sizes = async () => {
      const seen: (readonly [string, number, number])[] = [];
      for await (const event of harness.holdpoint.attach({ id: turn.id, subject: requester.subject }).events()) {
        if (event.type !== 'approvalRequired') continue;
        seen.push([event.callId, event.request.revision, lengthOf(event.request)]);
        if (seen.length === 4) break;
      }
      return seen.sort();
    };
    const whole = [
      ['c1', 1, 256_000],
      ['c1', 2, 256_000],
      ['c2', 1, 254_976],
      ['c2', 2, 254_976],
    ];
    expect(await sizes()).toEqual(whole);
    for (const request of second) await harness.decide(request, 'deny');
    await turn.results();
    expect(await sizes()).toEqual(whole);
  });

  test('a refusal that would carry a name of 200 KiB is cut, and its turn ends', async () => {
    const long = (id: string) => remove(id, { id: 1, [text(200)]: 1 });
    const name = text(200);
    harness.tools.changeTool('delete_rows', { inputSchema: { type: 'object', additionalProperties: false } });
    const turn = await harness.start([long('c1'), long('c2'), long('c3'), long('c4'), long('c5'), long('c6')], {
      requester: someone(),
    });
    const results = await turn.results();
    harness.tools.changeTool('delete_rows', {});
    expect(results.map((result) => result.outcome)).toEqual(Array(6).fill('refused'));
    expect(results[0]!.textForModel.length).toBeLessThan(5_000);
    expect(results[0]!.textForModel).not.toContain(name);
  });

  test('a preview of 3 MiB does not stand in the way of the question', async () => {
    await harness.applyPolicy({ preview: true });
    harness.tools.behave('plan_migration', { kind: 'big', chars: 3 * KIB * KIB });
    harness.tools.setRows(Array.from({ length: 100 }, (_, id) => ({ id, item: text(30) })));
    const turn = await harness.start([migrate('c1', { sql: 'previewed' })], { requester: someone() });
    const [request] = await harness.requests(turn);
    harness.tools.setRows([]);
    expect(request!.preview).toMatchObject({ show: 'diff', value: { unavailable: expect.any(String) as string } });
    await harness.decide(request!, 'allow');
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
  });

  test('a turn over 1.9 MB is refused at the start, with the limit named', async () => {
    const calls = Array.from({ length: 8 }, (_, index) => migrate(`c${index}`, { sql: text(250) }));
    await expect(harness.start(calls, { requester: someone() })).rejects.toMatchObject({
      code: 'TURN_INVALID',
      message: expect.stringContaining('1900000') as string,
    });
  });
});

describe('decisions', () => {
  const begin = async () => {
    const turn = await harness.start([remove('c1', { id: 65 })], { requester: someone() });
    const [request] = await harness.requests(turn);
    return { turn, request: request! };
  };

  test('of 65 KiB is refused at each entrance; the turn stays decidable', async () => {
    const { turn, request } = await begin();
    expect((await harness.decide(request, 'allow', { reason: text(65) })).code).toBe('tooLarge');
    expect((await sendUpdate(harness, turn, { reason: text(65) })).code).toBe('tooLarge');
    expect(await statuses(turn)).toEqual(['pending']);
    expect((await turn.snapshot()).ignored).toBeGreaterThan(0);
    expect((await harness.decide(request, 'allow')).code).toBe('accepted');
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
  });

  test('an update of 3 MiB is refused by the server; the turn stays decidable', async () => {
    const { turn, request } = await begin();
    // The client goes on trying until its deadline, as for any exhausted resource.
    const { client } = harness.holdpoint;
    const sending = client.withDeadline(Date.now() + 1_000, () => sendUpdate(harness, turn, { reason: text(3 * KIB) }));
    await expect(sending).rejects.toThrow();
    expect(await statuses(turn)).toEqual(['pending']);
    expect((await harness.decide(request, 'allow')).code).toBe('accepted');
    expect(await outcomes(turn)).toEqual([['c1', 'executed']]);
  });
});
