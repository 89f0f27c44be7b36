import { randomUUID } from 'node:crypto';
import type { ApprovalRequest } from '../../client';
import { mail, migrate, read, remove, someone } from '../support/calls';
import { start, startCliStage, type CliStage } from '../support/cli';
import { eventually } from '../support/eventually';

let stage: CliStage;

beforeAll(async () => {
  stage = await startCliStage();
});

afterAll(() => stage.close());

async function openRequest(): Promise<ApprovalRequest> {
  const turn = await stage.harness.start([remove()], { requester: someone() });
  const [request] = await stage.harness.requests(turn);
  if (request === undefined) throw new Error('no request is open');
  return request;
}

describe('holdpoint requests', () => {
  test('lists what waits, as a table and as JSON', async () => {
    const { shortId, operationId } = await openRequest();
    const asTable = await stage.run(['requests']);
    expect(asTable.code).toBe(0);
    expect(asTable.stdout).toMatch(/^ID +EXPIRES +REQUESTER +TOOL +MATERIAL\n/);
    expect(asTable.stdout).toMatch(new RegExp(`${shortId}  in 29 min \\d+ s  u1 +orders-db / delete_rows +id=7`));
    const asJson = await stage.run(['requests', '--json']);
    expect(JSON.parse(asJson.stdout)).toContainEqual(
      expect.objectContaining({
        request: expect.objectContaining({ shortId, operationId }),
        standing: expect.objectContaining({ state: 'pending', level: 0 }),
      }),
    );
  });

  test('narrows to whom it asks, what it calls and who asked', async () => {
    const { shortId, requester } = await openRequest();
    for (const filter of [
      '--approver=dba',
      '--tool=delete_rows',
      '--server=orders-db',
      `--requester=${requester.subject}`,
    ]) {
      expect((await stage.run(['requests', filter])).stdout).toContain(shortId);
    }
    for (const filter of [
      '--approver=dba-leads',
      '--tool=send_mail',
      '--server=mail',
      '--requester=u2',
      '--status=denied',
    ]) {
      expect((await stage.run(['requests', filter])).stdout).not.toContain(shortId);
    }
  });

  test('says on stderr that nothing waits, so that a pipe gets nothing', async () => {
    expect(await stage.run(['requests', '--tool', 'nothing'])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No request waits for people.\n',
    });
  });
});

describe('holdpoint requests --watch', () => {
  test('prints each request as it opens and as it closes, until it is stopped', async () => {
    const watching = start(['requests', '--watch', '--tool', 'send_mail', '--state', stage.stateDir]);
    const asJson = start(['requests', '--watch', '--json', '--tool', 'send_mail', '--state', stage.stateDir]);
    const turn = await stage.harness.start([mail()], { requester: someone() });
    const [request] = await stage.harness.requests(turn);
    const { shortId } = request!;
    await eventually(() => expect(watching.output.stdout).toMatch(new RegExp(`^\\+ ${shortId}  expires in 29 min`)));
    await eventually(() => expect(asJson.output.stdout).toContain('{"event":"opened"'));
    await stage.run(['deny', shortId]);
    await eventually(() => expect(watching.output.stdout).toContain(`\n- ${shortId}  denied  u1`));
    await eventually(() => expect(asJson.output.stdout.trimEnd().split('\n')).toHaveLength(2));
    const [, closed] = asJson.output.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(closed).toMatchObject({ event: 'closed', request: { shortId }, standing: { state: 'denied' } });
    watching.signal('SIGINT');
    asJson.signal('SIGTERM');
    await Promise.all([watching.exited, asJson.exited]);
  });
});

describe('an id', () => {
  test('is the short id in any case, the operation id, or the beginning of either', async () => {
    const { shortId, operationId } = await openRequest();
    for (const id of [
      shortId,
      shortId.toLowerCase(),
      shortId.slice(0, 6),
      operationId,
      operationId.slice(0, 20).toUpperCase(),
    ]) {
      const shown = await stage.run(['show', id, '--json']);
      expect(JSON.parse(shown.stdout)).toMatchObject({ request: { operationId, shortId } });
    }
  });

  test('that fits several is refused, with the candidates', async () => {
    await openRequest();
    await openRequest();
    const { code, stdout, stderr } = await stage.run(['show', 'op_']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^holdpoint: op_ fits several; nothing was changed\. Give more characters:\n {2}[0-9A-Z]{8} {2}op_/,
    );
  });

  test.each(['ZZZZZZZZ', 'op_ffffffffff', 'x', ''])('that fits nothing (%j) is not found', async (id) => {
    const { code, stderr } = await stage.run(['show', id]);
    expect(code).toBe(2);
    expect(stderr).toContain('No request or operation has the id');
    expect(stderr).toContain('holdpoint requests');
  });

  test('finds a call that ran unasked, and one that was refused', async () => {
    const turn = await stage.harness.start([read('c1'), read('c2', { tool: 'no_such_tool' })], {
      requester: someone(),
    });
    const [free, refused] = await turn.results();
    const ran = await stage.run(['show', free!.operationId]);
    expect(ran.stdout).toMatch(/outcome {5}executed \(by the tool's own answer\)/);
    const shown = await stage.run(['show', refused!.operationId]);
    expect(shown.stdout).toContain('call.refused');
    expect(shown.stdout).toContain('TOOL_UNKNOWN');
  });
});

describe('holdpoint show', () => {
  test('has everything that a decision needs, the note of the model last', async () => {
    const note = 'please hurry';
    const turn = await stage.harness.start([migrate('c1', {}, { note })], { requester: someone('u1', ['planner']) });
    const [request] = await stage.harness.requests(turn);
    const { stdout } = await stage.run(['show', request!.shortId]);
    const expected = [
      'u1 through agent',
      '(chain: u1 > planner >',
      'orders-db / apply_migration',
      'environment (text): production',
      'statement (sql):\n    │ ADD COLUMN note',
      '"environment": "production"',
      'version     7',
      'rule        production-migrations @ ',
      'an allow    permits this one operation, once',
      'asked       1 of dba (now: r1, r2); 0 of 1 so far',
      'to dba-leads',
      'then it expires and is not executed',
      'reversible  with effort',
      'similar     no earlier operation',
      request!.operationId,
      request!.bindingDigest,
      `holdpoint allow ${request!.shortId}`,
      'TRUST       namespace: UNSIGNED decisions count',
    ];
    for (const text of expected) expect(stdout).toContain(text);
    expect(stdout.indexOf(note)).toBeGreaterThan(stdout.indexOf(request!.bindingDigest));
    expect(stdout).toContain("the model's own words (no fact, nobody checked them)");
  });

  test('shows what was decided, by whom and how it ended, and the facts on record', async () => {
    const request = await openRequest();
    expect((await stage.run(['allow', request.shortId, '--reason', 'ticket 7'])).code).toBe(0);
    await stage.harness.holdpoint.attach({ id: request.turnId, subject: 'u1' }).results();
    const { stdout } = await stage.run(['show', request.operationId, '--audit']);
    expect(stdout).toMatch(/allow by r1 \(signed, cli\): "ticket 7"/);
    expect(stdout).toMatch(/outcome {5}executed \(by the tool's own answer\)/);
    expect(stdout).toMatch(/approved {4}by r1 under production-migrations, grant gr_/);
    for (const kind of [
      'request.opened',
      'decision.recorded',
      'grant.issued',
      'operation.dispatched',
      'operation.executed',
    ]) {
      expect(stdout).toContain(kind);
    }
  });

  test('never shows a text from outside as it is', async () => {
    const evil = 'ADD\u001b[2Jx\u202ey\r\nholdpoint: allowed';
    const turn = await stage.harness.start([migrate('c1', { sql: evil }, { note: evil })], {
      id: `t-${randomUUID()}`,
      requester: someone(),
    });
    const [request] = await stage.harness.requests(turn);
    for (const args of [['show', request!.shortId], ['requests'], ['show', request!.shortId, '--audit', '--json']]) {
      const { stdout } = await stage.run(args);
      expect(stdout).not.toMatch(/[\u001b\u202e\r]/);
      expect(stdout).not.toMatch(/^holdpoint: allowed/m);
    }
    const { stdout } = await stage.run(['show', request!.shortId]);
    expect(stdout).toContain('ADD⟦U+001B⟧[2Jx⟦U+202E⟧y⟦U+000D⟧\n    │ holdpoint: allowed');
    expect(stdout).toContain('"sql": "ADD⟦U+001B⟧[2Jx⟦U+202E⟧y⟦U+000D⟧\\nholdpoint: allowed"');
    expect(stdout).not.toContain('U+27E6');
  });
});
