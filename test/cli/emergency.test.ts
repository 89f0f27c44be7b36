import type { ApprovalRequest } from '../../client';
import { remove, someone } from '../support/calls';
import { startCliStage, type CliStage } from '../support/cli';

let stage: CliStage;
beforeAll(async () => {
  stage = await startCliStage({
    policy: {
      people:
        '  r1: { groups: [dba] }\n  r2: { groups: [dba] }\n  l1: { groups: [dba-leads] }\n  o1: { groups: [oncall] }\n  u1: { groups: [platform] }',
      moreRules: `  - id: break-glass
    server: orders-db
    scope: { tools: [delete_rows] }
    approvers: { groups: [oncall] }
    emergency: { reviewWithin: 8h }
`,
    },
  });
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
const emergency = ['--as', 'o1', '--emergency', 'break-glass', '--ticket', 'INC-7', '--reason', 'the site is down'];

test('a waiting request says who may skip its approvers in an emergency', async () => {
  const { shortId } = await openRequest();
  expect((await stage.run(['show', shortId])).stdout).toContain(
    'emergency   rule break-glass: 1 of oncall (o1) may skip them; permits this one operation, once, in 15 min at most; it is reviewed after',
  );
});

test.each([
  [
    ['--emergency', 'break-glass'],
    'An emergency needs --ticket and --reason: those whom it skips read it at once. Nothing was sent.',
  ],
  [
    ['--emergency', 'break-glass', '--ticket', 'T', '--reason', ' '],
    'An emergency needs --reason: those whom it skips read it at once. Nothing was sent.',
  ],
  [['--ticket', 'T'], '--ticket goes with --emergency RULE. Nothing was sent.'],
])('an incomplete emergency is not sent: %j [TIME2-14]', async (args, says) => {
  const { shortId } = await openRequest();
  const { code, stderr } = await stage.run(['allow', shortId, ...args]);
  expect(code).toBe(1);
  expect(stderr).toContain(says);
});

test('an emergency is allowed, shown as one, listed, and reviewed by somebody whom it skipped [WHO-18]', async () => {
  const { shortId, operationId } = await openRequest();
  const grantId = `gr_${operationId.slice(3)}.1`;
  expect(await stage.run(['allow', shortId, ...emergency])).toMatchObject({ code: 0 });
  const shown = (await stage.run(['show', operationId])).stdout;
  expect(shown).toContain('allow as an EMERGENCY under rule break-glass by o1 (UNVERIFIED: not signed, cli)');
  expect(shown).toContain(
    'EMERGENCY  allowed by o1 under rule break-glass, ticket INC-7: the site is down\n  skipped l1, r1, r2\n  review  open until ',
  );
  const listed = await stage.run(['retrospective', 'list']);
  expect(listed).toMatchObject({ stderr: expect.stringContaining('1 review to close') as string });
  expect(listed.stdout).toMatch(
    new RegExp(`${grantId.slice(0, 15)} +open until .* break-glass, INC-7 +orders-db / delete_rows +o1 +l1, r1, r2`),
  );
  const close = (by: string) =>
    stage.run([
      'retrospective',
      'close',
      grantId.slice(0, 12),
      'justified',
      '--note',
      'the replica was gone',
      '--as',
      by,
    ]);
  expect(await close('o1')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      `o1 may not review emergency ${grantId}; who may: l1, r1, r2. Nothing was changed.`,
    ) as string,
  });
  expect(await close('r2')).toMatchObject({
    code: 0,
    stdout: `The review of ${grantId} is closed as justified, recorded as r2, UNVERIFIED: not signed.\n`,
  });
  expect((await close('r1')).stderr).toContain('too late: r2 found it justified before. Nothing was changed.');
  expect(await stage.run(['retrospective', 'list'])).toMatchObject({ stderr: 'No review of an emergency is open.\n' });
  expect((await stage.run(['show', operationId])).stdout).toContain(': the replica was gone');
  expect((await stage.run(['retrospective', 'close', 'gr_0000', 'justified', '--note', 'x'])).code).toBe(2);
});

test('a reversal is reported once, for what was executed', async () => {
  const { shortId, operationId } = await openRequest();
  const report = () => stage.run(['report', 'reversal', operationId, '--reason', 'the wrong row', '--as', 'r2']);
  expect((await report()).code).not.toBe(0);
  await stage.run(['allow', shortId]);
  const ended = async () => (await stage.harness.facts(operationId)).some(({ kind }) => kind === 'operation.executed');
  while (!(await ended())) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await report()).toMatchObject({
    code: 0,
    stderr: '',
    stdout: `The reversal of ${operationId} is on record, reported by r2, UNVERIFIED: not signed.\n`,
  });
  expect(await report()).toMatchObject({ code: 1, stderr: expect.stringContaining('is on record already') as string });
});
