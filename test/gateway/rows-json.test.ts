import { freshPlace, STORE_KINDS, type FreshPlace } from '../support/stores';
import { approvalOf, startGatewayStage, type GatewayStage } from '../support/gateway-stage';
import { called, migration, openRequest, parsed, rawClient, traces } from '../support/gateway-rows';
import type { RawClient } from '../support/gateway-stdio-client';
import { withdrawOpen } from '../support/messages';

const KIB_256 = 262_144;

describe.each(STORE_KINDS)('with a ledger on %s', (kind) => {
  let place: FreshPlace;
  let stage: GatewayStage;
  let client: RawClient;
  beforeAll(async () => {
    place = await freshPlace(kind);
    stage = await startGatewayStage({ waitForMs: 600, ledgerUrl: place.url });
    client = await rawClient(stage);
  });
  afterAll(async () => {
    await stage.close();
    await place.remove();
  });
  afterEach(() => withdrawOpen(stage));

  const answerTo = async (body: string) => {
    const answer = await client.post(body);
    const [message] = await parsed(Promise.resolve(answer));
    return { status: answer.status, error: message?.['error'] as { code: number; message: string } | undefined };
  };
  const call = (args: string, name = '"apply_migration"') =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${name},"arguments":${args}}}`;
  /** What was refused left nothing: no row, no record, no effect; the tool never saw it. */
  const leavesNothing = async (body: string) => {
    const before = [...(await traces(stage)), stage.tools.received.length];
    const answer = await answerTo(body);
    expect([...(await traces(stage)), stage.tools.received.length]).toEqual(before);
    return answer;
  };

  it.each([
    ['an argument twice', call('{"amount":1,"amount":1000}'), -32600, 'twice'],
    ['a name twice, once escaped', call('{"amount":1,"\\u0061mount":1000}'), -32600, 'twice'],
    ['the tool twice', call('{}', '"read_rows","name":"delete_rows"'), -32600, 'twice'],
    [
      'a member of the message twice',
      `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`,
      -32600,
      'twice',
    ],
    ['a broken object', call('{"id":1,'), -32700, ''],
    ['a number that is rounded', call('{"id":9007199254740993}'), -32600, 'string'],
    ['a number that is infinite', call('{"id":1e400}'), -32600, ''],
    ['half a character', call('{"id":"\\ud800"}'), -32600, ''],
    ['U+0000', call('{"environment":"production","sql":"x\\u0000y"}'), -32600, 'U+0000'],
  ])('%s is refused on the raw text [CANON-1] [BYPASS-4] [BIND-12] [CANON-12]', async (_, body, code, word) => {
    const { status, error } = await leavesNothing(body);
    expect(status).toBe(400);
    expect(error?.code).toBe(code);
    expect(error?.message).toContain(word);
  });

  it('the refusal of U+0000 is the same on both stores [CANON-12]', async () => {
    const { error } = await answerTo(call('{"sql":"x\\u0000y"}'));
    expect(error?.message).toBe('A text holds U+0000; remove it or send it encoded (at /params/arguments/sql)');
  });

  it('arguments that are no object are refused before anybody is asked [BIND-12]', async () => {
    for (const args of ['[1]', '"x"', '7', 'null', 'true']) {
      const { error } = await leavesNothing(call(args));
      expect(error).toMatchObject({ code: -32602, message: 'params.arguments is an object' });
    }
  });

  it('a batch is refused whole, whatever is in it [BYPASS-2]', async () => {
    const read = call('{"table":"orders"}', '"read_rows"');
    for (const body of [`[${read},${call('{"id":1}', '"delete_rows"')}]`, `[${read}]`, '[]']) {
      const { status, error } = await leavesNothing(body);
      expect(status).toBe(400);
      expect(error).toMatchObject({ code: -32600, message: expect.stringContaining('batch') as string });
    }
  });

  it('5 000 nested brackets are refused with the depth, and the next call is served [CANON-8]', async () => {
    const { status, error } = await leavesNothing(call(`{"sql":${'['.repeat(5_000)}${']'.repeat(5_000)}}`));
    expect(status).toBe(400);
    expect(error?.message).toContain('More than 64 containers inside each other');
    const [next] = await parsed(client.call('2', 'read_rows', '{"table":"orders"}'));
    expect(next?.['result']).toMatchObject({ structuredContent: { rows: [{ id: 1, item: 'chair' }] } });
  });

  it('arguments of 256 KiB are taken, one byte more is refused with the limit [CANON-9]', async () => {
    const sdk = await stage.client();
    const frame = JSON.stringify(migration('')).length;
    const fitting = 'x'.repeat(KIB_256 - frame);
    const taken = await called(sdk, 'apply_migration', migration(fitting));
    expect(approvalOf(taken).status).toBe('pending');
    expect((await openRequest(stage, approvalOf(taken).operationId)).arguments['sql']).toHaveLength(fitting.length);
    const [requests, operations] = await traces(stage);
    const refused = await called(sdk, 'apply_migration', migration(`${fitting}x`));
    expect(refused.isError).toBe(true);
    expect(approvalOf(refused)).toMatchObject({ status: 'refused', code: 'ARGUMENTS_INVALID' });
    expect(JSON.stringify(refused.content)).toContain('More than 262144 bytes of JSON; send less');
    expect((await traces(stage)).slice(0, 2)).toEqual([requests, operations]);
    expect(stage.tools.runs).toEqual([]);
  });

  it('arguments that no turn could hold are refused with the same limit [CANON-9]', async () => {
    const sdk = await stage.client();
    const refused = await called(sdk, 'apply_migration', migration('y'.repeat(3 * 1_048_576)));
    expect(approvalOf(refused)).toMatchObject({ status: 'refused', code: 'ARGUMENTS_INVALID' });
    expect(JSON.stringify(refused.content)).toContain('More than 262144 bytes of JSON; send less');
  });

  it('what a client answers a question of the server with has a limit too, in words [CANON-9]', async () => {
    const more = `"inputResponses":{"q":"${'x'.repeat(17_000)}"}`;
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_rows","arguments":{"id":1},${more}}}`;
    const [message] = await parsed(client.post(body));
    expect(message?.['result']).toMatchObject({ isError: true });
    expect(JSON.stringify(message)).toContain('"status":"refused"');
    expect(JSON.stringify(message)).toContain('16384 bytes');
  });
});
