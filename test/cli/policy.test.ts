import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateReviewerKey, publicKeyOf } from '../../client';
import { run, startCliStage, temporaryFolder, type CliStage } from '../support/cli';
import { policyText } from '../support/policy-text';

let folder: string;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return name;
}

describe('holdpoint policy check', () => {
  test('says in words what a policy means', async () => {
    const file = write(
      'policy.yaml',
      policyText({ url: 'http://127.0.0.1:4100/mcp', quorum: 2, validity: '{ uses: 3, minutes: 90 }' }),
    );
    const { code, stdout } = await run(['policy', 'check', file], { cwd: folder });
    expect(code).toBe(0);
    expect(stdout).toBe(`policy.yaml is a policy: 1 server, 5 people, 1 access entry, 1 rule; trust: namespace
  rule production-migrations: orders-db / apply_migration, delete_rows, send_mail
      asks 2 of dba (r1, r2); after 10 min also dba-leads; expires after 30 min
      an allow permits up to 3 uses within 1 h 30 min of calls with the same material fields, whatever their other arguments
Any other call runs unasked where access lets it, and is refused where access does not.
PERSON  GROUPS     SUBJECTS  KEYS
r1      dba        2         none
r2      dba        2         none
l1      dba-leads  2         none
u1      platform   2         none
u2      platform   2         none
`);
  });

  test('lists people with what they are and have, and who operates the console', async () => {
    const [one, two] = [generateReviewerKey().publicKey, generateReviewerKey().publicKey];
    const file = write(
      'people.yaml',
      policyText({
        url: 'http://127.0.0.1:4100/mcp',
        console: `console: { key: '${one}', operators: { groups: [dba-leads], people: [r2] }, secondReviewShare: 0.075 }`,
        people: `  r1: { groups: [dba], key: '${two}', subjects: [r1, 'user:r1', 'auth0|1'] }
  r2: { groups: [dba, dba-leads] }
  l1: { groups: [dba-leads] }
  u1: { groups: [platform] }
  u2: { groups: [] }`,
      }),
    );
    const { stdout } = await run(['policy', 'check', file], { cwd: folder });
    expect(stdout.slice(stdout.indexOf('PERSON'))).toBe(`PERSON  GROUPS          SUBJECTS  KEYS
r1      dba             3         1
r2      dba, dba-leads  2         none
l1      dba-leads       2         none
u1      platform        2         none
u2      -               2         none
The console signs with ${one}
  operators: l1, r2
  second review of 7.5 % of what people decide
`);
  });

  test('without a rule says that nothing asks', async () => {
    const file = write('empty.yaml', 'people: {}\nservers: {}\naccess: []\nrules: []\n');
    const { code, stdout } = await run(['policy', 'check', file], { cwd: folder });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `empty.yaml is a policy: 0 servers, 0 people, 0 access entries, 0 rules
Every call runs unasked where access lets it, and is refused where access does not.
`,
    });
  });

  test('names each problem as file:line:column, with what is allowed and the nearest name', async () => {
    const file = write(
      'broken.yaml',
      policyText({ url: 'http://127.0.0.1:4100/mcp' })
        .replace('reversible:', 'reversibel:')
        .replace('groups: [dba], quorum', 'groups: [dbs], quorum'),
    );
    const { code, stdout, stderr } = await run(['policy', 'check', file], { cwd: folder });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^broken\.yaml:33:9: .*reversibel is not a key here; allowed: .*\n {4}Did you mean "reversible"\?$/m,
    );
    expect(stderr).toMatch(/^broken\.yaml:\d+:\d+: .*dbs/m);
    const asJson = await run(['policy', 'check', file, '--json'], { cwd: folder });
    expect(JSON.parse(asJson.stdout)).toMatchObject({
      ok: false,
      problems: [{ code: 'POLICY_UNKNOWN_KEY', line: 33 }, {}],
    });
  });

  test('says that a file is not there', async () => {
    expect(await run(['policy', 'check', 'nowhere.yaml'], { cwd: folder })).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'holdpoint: The policy file nowhere.yaml is not there. Nothing was changed.\nCorrect the path, or make one with "holdpoint init".\n',
    });
  });
});

describe('holdpoint policy apply', () => {
  let stage: CliStage;

  beforeAll(async () => {
    stage = await startCliStage({ worker: false });
  });

  afterAll(() => stage.close());

  test('makes a file the active policy, and says which rules change', async () => {
    const text = policyText({ url: stage.harness.tools.url, quorum: 2 }).concat(`  - id: reads
    server: orders-db
    scope: { tools: [read_rows] }
    approvers: { groups: [dba] }
`);
    const file = write('next.yaml', text);
    const { code, stdout, stderr } = await stage.run(['policy', 'apply', file, '--as', 'opal'], { cwd: folder });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^warning: r1 lost the key .*\n$/) });
    expect(stdout).toBe(`Policy 2 is active: next.yaml, recorded as applied by opal, UNVERIFIED: not signed.
  ~ person r1 lost the key
  + rule reads
  ~ rule production-migrations: approvers changed
Open requests keep their reviewers and deadlines; what was allowed and not sent is judged by the new rules.
`);
    const shown = await stage.run(['policy', 'show']);
    expect(shown.stdout).toMatch(/^Policy 2 \(next\.yaml\), applied .* UTC by opal: 1 server/);
    expect((await stage.run(['policy', 'show', '--text'])).stdout).toBe(text);
    expect(await stage.run(['policy', 'apply', file], { cwd: folder })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('nothing changed'),
    });
    const back = write('back.yaml', policyText({ url: stage.harness.tools.url }));
    expect((await stage.run(['policy', 'apply', back], { cwd: folder })).stdout).toContain('  - rule reads\n');
  });

  test('names who lost a key, before and when it is applied', async () => {
    const people = (key: string) => `  r1: { groups: [dba]${key} }
  r2: { groups: [dba] }
  l1: { groups: [dba-leads] }
  u1: { groups: [platform] }
  u2: { groups: [platform] }`;
    const { url } = stage.harness.tools;
    const { publicKey } = generateReviewerKey();
    const withKey = write('keyed.yaml', policyText({ url, people: people(`, key: '${publicKey}'`) }));
    await stage.run(['policy', 'apply', withKey], { cwd: folder });
    const without = write('keyless.yaml', policyText({ url, people: people('') }));
    const warning =
      'warning: r1 lost the key that the policy before listed: decisions under this name count as UNVERIFIED, signed or not, until people lists a key again.\n';
    const change = '  ~ person r1 lost the key\n';
    const checked = await stage.run(['policy', 'check', without, '--against', 'active'], { cwd: folder });
    expect(checked).toMatchObject({ code: 0, stderr: warning });
    expect(checked.stdout).toMatch(/\nAgainst the active policy, \d+:\n {2}~ person r1 lost the key\n/);
    const applied = await stage.run(['policy', 'apply', without], { cwd: folder });
    expect(applied).toMatchObject({ code: 0, stderr: warning });
    expect(applied.stdout).toContain(change);
  });

  test('with a problem leaves the active policy as it is', async () => {
    const before = await stage.run(['policy', 'show', '--json']);
    const file = write('broken.yaml', 'people: {}\n');
    const { code, stderr } = await stage.run(['policy', 'apply', file], { cwd: folder });
    expect(code).toBe(1);
    expect(stderr).toMatch(/broken\.yaml:1:1: .*\n[\s\S]*problems; the active policy is unchanged\./);
    expect((await stage.run(['policy', 'show', '--json'])).stdout).toBe(before.stdout);
  });

  test('warns of a server that cannot be reached, and of tools that it does not list', async () => {
    const text = policyText({ url: stage.harness.tools.url })
      .replace('access:\n', `  gone-db:\n    http: { url: 'http://127.0.0.1:1/mcp' }\naccess:\n`)
      .replace('      read_rows:', '      read_rowz:');
    const { code, stderr } = await stage.run(['policy', 'apply', write('far.yaml', text)], { cwd: folder });
    expect(code).toBe(0);
    expect(stderr).toContain('warning: server gone-db cannot be reached from here:');
    expect(stderr).toContain('warning: server orders-db lists no tool read_rowz; what needs it is refused.');
    const quiet = await stage.run(['policy', 'apply', write('far2.yaml', `${text}# again\n`), '--no-probe'], {
      cwd: folder,
    });
    expect(quiet).toMatchObject({ code: 0, stderr: '' });
  });

  test('makes a new ledger where the environment names one', async () => {
    const file = write('policy.yaml', policyText({ url: stage.harness.tools.url }));
    const env = { HOLDPOINT_LEDGER_URL: `file:${join(folder, 'new.db')}` };
    expect(await run(['policy', 'show'], { cwd: folder, env })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('There is no ledger at'),
    });
    expect(existsSync(join(folder, 'new.db'))).toBe(false);
    expect((await run(['policy', 'apply', file], { cwd: folder, env })).stdout).toContain('Policy 1 is active');
    expect((await run(['policy', 'show'], { cwd: folder, env })).code).toBe(0);
  });
});

describe('holdpoint init', () => {
  test('writes a policy that can be applied, and a key that belongs to its reviewer', async () => {
    const { code, stdout } = await run(
      ['init', '--reviewer', 'mia', '--server', 'files', '--command', 'npx -y server /data'],
      { cwd: folder },
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'policy.yaml is written.\n' });
    const checked = await run(['policy', 'check', 'policy.yaml'], { cwd: folder });
    expect(checked.stdout).toContain('rule destructive-tools: files / every destructive tool');
    expect(checked.stdout).toContain('asks 1 of reviewers (mia)');
    const key = readFileSync(join(folder, '.holdpoint/keys/mia.pem'), 'utf8');
    expect(readFileSync(join(folder, 'policy.yaml'), 'utf8')).toContain(publicKeyOf(key));
    expect(statSync(join(folder, '.holdpoint/keys/mia.pem')).mode & 0o777).toBe(0o600);
  });

  test('replaces no file, and makes nothing of a name that no policy takes', async () => {
    write('policy.yaml', 'mine');
    expect(await run(['init'], { cwd: folder })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('policy.yaml exists already. It was not changed.'),
    });
    expect(readFileSync(join(folder, 'policy.yaml'), 'utf8')).toBe('mine');
    const bad = await run(['init', 'other.yaml', '--server', 'no good: [name'], { cwd: folder });
    expect(bad).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing was written') });
    expect(existsSync(join(folder, 'other.yaml'))).toBe(false);
  });
});

describe('holdpoint key new', () => {
  test('writes the private half for its owner alone, prints the public half, and replaces nothing', async () => {
    const { code, stdout } = await run(['key', 'new', 'eli.pem'], { cwd: folder });
    expect(code).toBe(0);
    const file = join(folder, 'eli.pem');
    expect(stdout).toBe(`${publicKeyOf(readFileSync(file, 'utf8'))}\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await run(['key', 'new', 'eli.pem'], { cwd: folder })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('a key is never replaced'),
    });
  });

  test('without a file prints the private half alone on stdout', async () => {
    const { stdout, stderr } = await run(['key', 'new']);
    expect(stdout).toMatch(/^-----BEGIN PRIVATE KEY-----\n[\s\S]+-----END PRIVATE KEY-----\n$/);
    expect(stderr).toContain(publicKeyOf(stdout));
  });
});
