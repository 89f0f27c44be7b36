import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateReviewerKey, type ApprovalRequest } from '../../client';
import { remove, someone } from '../support/calls';
import { startCliStage, type CliStage } from '../support/cli';

let stage: CliStage;

beforeAll(async () => {
  stage = await startCliStage({ policy: { quorum: 1, validity: '{ minutes: 30 }' } });
});

afterAll(() => stage.close());

let rows = 0;

async function openRequest(): Promise<ApprovalRequest> {
  rows += 1;
  const turn = await stage.harness.start([remove('c1', { id: rows })], { requester: someone() });
  const [request] = await stage.harness.requests(turn);
  if (request === undefined) throw new Error('no request is open');
  return request;
}

describe('holdpoint allow', () => {
  test('is recorded under the dev reviewer, signed with its key', async () => {
    const { shortId, operationId } = await openRequest();
    const { code, stdout } = await stage.run(['allow', shortId.toLowerCase()]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `allow ${shortId} orders-db / delete_rows for u1: allowed\nrecorded as r1, signed\n`,
    });
    const facts = await stage.harness.facts(operationId);
    expect(facts.find((fact) => fact.kind === 'decision.recorded')?.body).toMatchObject({
      reviewer: 'r1',
      channel: 'cli',
      signature: 'valid',
    });
  });

  test('without a key is recorded as unverified, and says so', async () => {
    const { shortId } = await openRequest();
    const { code, stdout } = await stage.run(['allow', shortId, '--as', 'r2']);
    expect(code).toBe(0);
    expect(stdout).toContain('recorded as r2, UNVERIFIED: not signed');
  });

  test('signed by a person without a key in the policy is recorded as unverified, and says why', async () => {
    const { shortId, operationId } = await openRequest();
    const key = join(stage.stateDir, 'r2.pem');
    writeFileSync(key, generateReviewerKey().privateKey, { mode: 0o600 });
    const { code, stdout } = await stage.run(['allow', shortId, '--as', 'r2', '--key', key]);
    expect(code).toBe(0);
    expect(stdout).toContain('recorded as r2, UNVERIFIED: the active policy lists no key of r2');
    const grants = JSON.parse((await stage.run(['grant', 'list', '--json'])).stdout) as readonly object[];
    expect(grants).toContainEqual(
      expect.objectContaining({ grantId: `gr_${operationId.slice(3)}.1`, deciders: ['r2'], verified: false }),
    );
  });

  test('can shorten a window, not widen it', async () => {
    const { shortId } = await openRequest();
    const wide = await stage.run(['allow', shortId, '--minutes', '31']);
    expect(wide.code).toBe(1);
    expect(wide.stdout).toContain('this allow does not count [cannotWiden]');
    expect((await stage.run(['allow', shortId, '--minutes', '15'])).code).toBe(0);
    const { stdout } = await stage.run(['grant', 'list']);
    expect(stdout).toMatch(/ends in 14 min \d+ s/);
  });

  test.each(['0', 'x', '1.5', '-1'])('refuses --minutes %s before anything is sent', async (minutes) => {
    const { shortId } = await openRequest();
    const { code, stderr } = await stage.run(['allow', shortId, `--minutes=${minutes}`]);
    expect(code).toBe(1);
    expect(stderr).toContain('It is a whole number of minutes, 1 or more.');
  });

  test('a second time has the same answer; a deny after it is a conflict', async () => {
    const { shortId } = await openRequest();
    await stage.run(['allow', shortId]);
    expect((await stage.run(['allow', shortId])).code).toBe(0);
    const second = await stage.run(['deny', shortId, '--json']);
    expect(second.code).toBe(1);
    expect(JSON.parse(second.stdout)).toMatchObject({ code: 'conflict', decidedBy: ['r1'] });
  });

  test('by a stranger, by the requester and with a foreign key does not count', async () => {
    const { shortId } = await openRequest();
    const foreign = join(stage.stateDir, 'foreign.pem');
    const { privateKey, publicKey } = generateReviewerKey();
    writeFileSync(foreign, privateKey, { mode: 0o600 });
    const tries = [
      { args: ['--as', 'nobody'], code: 'notAReviewer' },
      { args: ['--as', 'u1'], code: 'notAReviewer' },
      { args: ['--as', 'nobody', '--key', foreign], code: 'notAReviewer' },
      { args: ['--key', foreign], code: 'badSignature', says: `people: { r1: { key: '${publicKey}' } }` },
    ];
    for (const { args, code, says = '' } of tries) {
      const ran = await stage.run(['allow', shortId, ...args]);
      expect(ran).toMatchObject({ code: 1, stdout: expect.stringContaining(`[${code}]`) });
      expect(ran.stdout).toContain(says);
    }
    expect((await stage.run(['show', shortId])).stdout).toContain('waits for a decision');
  });

  test('names the key that it cannot use, and sends nothing', async () => {
    const { shortId } = await openRequest();
    const noKey = join(stage.stateDir, 'no.pem');
    writeFileSync(noKey, 'not a key');
    expect(await stage.run(['allow', shortId, '--key', '/nowhere/key.pem'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The key /nowhere/key.pem cannot be read. Nothing was sent.'),
    });
    expect(await stage.run(['allow', shortId, '--key', noKey])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no.pem holds no private Ed25519 key in PEM. Nothing was sent.'),
    });
  });
});

describe('holdpoint deny', () => {
  test('gives the reason to the model', async () => {
    const { shortId, turnId } = await openRequest();
    const { code, stdout } = await stage.run(['deny', shortId, '--reason', 'use the staging copy']);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `deny ${shortId} orders-db / delete_rows for u1: denied; this request is closed\nrecorded as r1, signed\n`,
    });
    const results = await stage.run(['turn', 'results', turnId, '--wait']);
    expect(results.code).toBe(5);
    expect(results.stdout).toContain('The reviewer\'s words: "use the staging copy".');
  });
});

describe('a decision about an older revision', () => {
  test('is stale, and its card says which one came after it', async () => {
    const { harness } = stage;
    const turn = await harness.start(
      [
        {
          id: 'c1',
          server: 'orders-db',
          tool: 'apply_migration',
          arguments: { environment: 'production', sql: 'ADD b' },
        },
      ],
      { requester: someone() },
    );
    const [first] = await harness.requests(turn);
    harness.tools.behave('schema_version', { kind: 'hold' });
    await stage.run(['allow', first!.shortId]);
    harness.tools.setVersion(8);
    harness.tools.behave('schema_version', undefined);
    harness.tools.release('schema_version');
    const [second] = await harness.requests(turn);
    expect(second).toMatchObject({ revision: 2, previousResourceVersion: 7, resourceVersion: 8 });
    expect((await stage.run(['allow', first!.shortId])).stdout).toContain('[stale]');
    const card = await stage.run(['show', first!.shortId]);
    expect(card.stdout).toContain(`This is revision 1; revision 2 came after it: holdpoint show ${second!.shortId}`);
    const newer = await stage.run(['show', second!.operationId]);
    expect(newer.stdout).toContain('asked again the resource changed after the approval; nothing has run');
    expect(newer.stdout).toContain('version     8  was 7 when it was approved');
    harness.tools.setVersion(7);
  });
});

describe('holdpoint grant', () => {
  test('lists what still permits something, and revokes it once', async () => {
    const { shortId, operationId } = await openRequest();
    await stage.run(['allow', shortId]);
    const grantId = `gr_${operationId.slice(3)}.1`;
    const listed = await stage.run(['grant', 'list', '--json']);
    expect(JSON.parse(listed.stdout)).toContainEqual(
      expect.objectContaining({ grantId, deciders: ['r1'], verified: true }),
    );
    const revoked = await stage.run(['grant', 'revoke', grantId.slice(0, 20), '--reason', 'wrong window']);
    expect(revoked).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`${grantId} is revoked, recorded as r1, UNVERIFIED: not signed.`),
    });
    expect((await stage.run(['grant', 'list'])).stdout).not.toContain(grantId.slice(0, 15));
    expect(await stage.run(['grant', 'revoke', grantId, '--reason', 'again'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('was revoked before. Nothing was changed.'),
    });
    expect((await stage.run(['grant', 'list', '--all'])).stdout).toMatch(/revoked/);
  });

  test('that is not there is not found', async () => {
    expect(await stage.run(['grant', 'revoke', 'gr_ffffff', '--reason', 'x'])).toMatchObject({ code: 2 });
  });
});
