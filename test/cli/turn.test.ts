import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../support/eventually';
import { mail, read, remove, someone } from '../support/calls';
import { startCliStage, type CliStage } from '../support/cli';

let stage: CliStage;

beforeAll(async () => {
  stage = await startCliStage();
});

afterAll(() => stage.close());

function turnFile(turn: object): string {
  const file = join(stage.stateDir, `turn-${randomUUID()}.json`);
  writeFileSync(file, JSON.stringify(turn));
  return file;
}

describe('holdpoint turn start', () => {
  test('starts a turn from a file, says what waits, and attaches the second time', async () => {
    const id = randomUUID();
    const file = turnFile({ id, requester: someone(), calls: [read('c1'), remove('c2')] });
    const first = await stage.run(['turn', 'start', file]);
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(new RegExp(`^turn ${id}  \\(workflow ${id}~`));
    expect(first.stdout).toMatch(/c2 {2}orders-db \/ delete_rows {2}waits for [0-9A-Z]{8} {2}op_/);
    expect(first.stdout).toMatch(/holdpoint show [0-9A-Z]{8}\n$/);
    const byNpx = await stage.run(['turn', 'show', id], { env: { npm_command: 'exec' } });
    expect(byNpx.stdout).toMatch(/\nnpx holdpoint show [0-9A-Z]{8}\n$/);
    const second = await stage.run(['turn', 'start', file, '--json']);
    expect(JSON.parse(second.stdout)).toMatchObject({ turnId: id, requiredActions: [{ callId: 'c2' }] });
  });

  test('reads stdin, makes up an id, and takes the requester of the dev stack', async () => {
    const { code, stdout } = await stage.run(['turn', 'start', '-', '--wait', '--json'], {
      stdin: JSON.stringify({ calls: [read()] }),
    });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject([{ callId: 'c1', outcome: 'executed' }]);
  });

  test('with other content under the same id is a conflict', async () => {
    const id = randomUUID();
    const requester = someone();
    await stage.run(['turn', 'start', turnFile({ id, requester, calls: [read()] }), '--wait']);
    const { code, stderr } = await stage.run(['turn', 'start', turnFile({ id, requester, calls: [read('c9')] })]);
    expect(code).toBe(1);
    expect(stderr).toContain('[TURN_CONFLICT]');
  });

  test.each([
    { text: '{"calls":[{"id":"c1","id":"c2"}]}', says: 'A name occurs twice in one object' },
    { text: '{"calls":[],"approved":true}', says: 'the turn: "approved" is not known here. Nothing was started.' },
    {
      text: '{"calls":[{"id":"c1","server":"s","tool":"t","arguments":{},"status":"allowed"}]}',
      says: 'calls.0: "status" is not known here. Nothing was started.',
    },
    { text: '{"calls":"no"}', says: 'calls: it must be a list.' },
    {
      text: '{"calls":[}',
      says: 'is no turn: A value must stand here (at /calls/0), line 1, column 11. Nothing was started.',
    },
    { text: '{"calls":[]}', says: '[TURN_INVALID]' },
  ])('refuses $text', async ({ text, says }) => {
    const { code, stdout, stderr } = await stage.run(['turn', 'start', '-'], { stdin: text });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(says);
  });

  test('says that a file is not there', async () => {
    const { code, stderr } = await stage.run(['turn', 'start', 'nowhere.json']);
    expect(code).toBe(2);
    expect(stderr).toContain('The turn file nowhere.json is not there. Nothing was started.');
  });

  test('says that a folder is no file', async () => {
    const { code, stderr } = await stage.run(['turn', 'start', '/']);
    expect(code).toBe(2);
    expect(stderr).toContain('The turn file / is a folder. Nothing was started.');
  });
});

describe('a turn by its id', () => {
  test('is found whoever asked, as long as one requester has it', async () => {
    const id = randomUUID();
    await stage.harness.start([remove()], { id, requester: someone('u1') });
    expect((await stage.run(['turn', 'show', id])).stdout).toContain(`turn ${id}`);
    await stage.harness.start([remove()], { id, requester: someone('u2') });
    const both = await stage.run(['turn', 'show', id]);
    expect(both.code).toBe(1);
    expect(both.stderr).toContain(`Several requesters have a turn ${id}: u1, u2.\nGive --subject.`);
    expect((await stage.run(['turn', 'show', id, '--subject', 'u2'])).code).toBe(0);
  });

  test.each(['show', 'events', 'results', 'withdraw'])('that nobody started is not found (%s)', async (command) => {
    const { code, stderr } = await stage.run(['turn', command, 'no-such-turn']);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        'holdpoint: Temporal knows no turn no-such-turn of u1, and the ledger knows none of that id.\nCheck the id, and give --subject.\n',
    });
  });

  test('is found where every call of it was refused, and each line says why', async () => {
    const id = randomUUID();
    const requester = { subject: 'user:nobody', agent: 'bot' };
    const started = await stage.run(['turn', 'start', turnFile({ id, requester, calls: [read('c1')] })]);
    const line = /c1 {2}orders-db \/ read_rows {2}refused {2}op_\w+\n {4}\[ACCESS_DENIED\] .*user:nobody through bot/;
    expect(started).toMatchObject({ code: 5, stdout: expect.stringMatching(line) });
    expect(await stage.run(['turn', 'show', id])).toMatchObject({ code: 0, stdout: expect.stringMatching(line) });
    expect(await stage.run(['turn', 'show', id, '--subject', 'u2'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`Temporal knows no turn ${id} of u2.\n`),
    });
  });
});

describe('holdpoint turn results', () => {
  test('of an open turn come not yet; of one that ended, in call order', async () => {
    const id = randomUUID();
    const turn = await stage.harness.start([remove('c1'), read('c2')], { id, requester: someone() });
    const early = await stage.run(['turn', 'results', id]);
    expect(early).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('is still open') });
    const [request] = await stage.harness.requests(turn);
    const waiting = stage.run(['turn', 'results', id, '--wait']);
    await stage.run(['allow', request!.shortId]);
    const { code, stdout } = await waiting;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^c1 {2}executed {2}op_\w+\n {2}│ [\s\S]*\nc2 {2}executed {2}op_/);
  });
});

describe('holdpoint turn events', () => {
  test('prints each event, and ends with the turn', async () => {
    const id = randomUUID();
    const turn = await stage.harness.start([remove()], { id, requester: someone() });
    const following = stage.run(['turn', 'events', id, '--json']);
    const [request] = await stage.harness.requests(turn);
    await stage.run(['deny', request!.shortId]);
    const { code, stdout } = await following;
    expect(code).toBe(0);
    const types = stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types).toEqual(['proposed', 'approvalRequired', 'ended']);
    expect((await stage.run(['turn', 'events', id])).stdout).toMatch(/#3 {2}.* {2}c1 {2}denied\n$/);
  });
});

describe('holdpoint turn withdraw', () => {
  test('takes back one call, with its reason', async () => {
    const id = randomUUID();
    const turn = await stage.harness.start([remove('c1'), remove('c2', { id: 8 })], { id, requester: someone() });
    await stage.harness.requests(turn, 2);
    expect(await stage.run(['turn', 'withdraw', id, '--call', 'c9'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has no call c9. Nothing was withdrawn.\nIts calls: c1, c2.'),
    });
    expect((await stage.run(['turn', 'withdraw', id, '--call', 'c1', '--reason', 'wrong table'])).code).toBe(0);
    await eventually(async () => {
      expect((await stage.run(['turn', 'show', id])).stdout).toMatch(/c1 .*withdrawn/);
    });
    expect((await stage.run(['turn', 'withdraw', id])).code).toBe(0);
    const ended = await stage.run(['turn', 'results', id, '--wait']);
    expect(ended.code).toBe(5);
    expect(ended.stdout).toContain('The requester took it back: wrong table');
    expect(await stage.run(['turn', 'withdraw', id])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has ended; nothing was withdrawn'),
    });
  });
});

describe('an unknown outcome', () => {
  test('is listed, settled once with a reason, and on record', async () => {
    stage.harness.tools.behave('send_mail', { kind: 'commitThenDrop' }, 1);
    const turn = await stage.harness.start([mail()], { requester: someone() });
    const [request] = await stage.harness.requests(turn);
    await stage.run(['allow', request!.shortId]);
    const [result] = await turn.results();
    expect(result?.outcome).toBe('unknown');
    const { operationId } = request!;
    const listed = await stage.run(['unknown']);
    expect(listed.stdout).toContain(operationId.slice(0, 15));
    expect(JSON.parse((await stage.run(['unknown', '--json'])).stdout)).toContainEqual(
      expect.objectContaining({ operationId, state: 'unknown' }),
    );
    expect(await stage.run(['settle', operationId, 'executed', '--reason', ' '])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('needs a reason'),
    });
    expect(await stage.run(['settle', operationId, 'perhaps', '--reason', 'x'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Allowed choices are executed, failed.'),
    });
    expect(await stage.run(['settle', operationId])).toMatchObject({ code: 1 });
    const settled = await stage.run([
      'settle',
      operationId.slice(0, 15),
      'executed',
      '--reason',
      'it is in the outbox of the mail server',
    ]);
    expect(settled).toMatchObject({
      code: 0,
      stdout: `${operationId} is settled as executed, recorded as r1, UNVERIFIED: not signed.\n`,
    });
    expect(await stage.run(['settle', operationId, 'failed', '--reason', 'no'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('only an unknown one is settled. Nothing was recorded.'),
    });
    expect((await stage.run(['show', operationId])).stdout).toContain(
      'executed (by settlement, settled by r1, UNVERIFIED)',
    );
    const results = await stage.run(['turn', 'results', turn.id]);
    expect(results).toMatchObject({
      code: 5,
      stdout: expect.stringMatching(
        /│ OUTCOME UNKNOWN[\s\S]*\n {2}settled since as executed by r1: it is in the outbox of the mail server; start the same turn again to hand it to the agent\n$/,
      ),
    });
    expect(JSON.parse((await stage.run(['turn', 'results', turn.id, '--json'])).stdout)).toMatchObject([
      { outcome: 'unknown', settledSince: { outcome: 'executed', by: 'r1' } },
    ]);
    expect((await stage.run(['unknown'])).stderr).toBe('No outcome is unknown.\n');
  });
});
