import { createPrivateKey } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { generateReviewerKey, publicKeyOf } from '../../client';
import { createCheckpointer } from '../../ledger/checkpointer';
import { readCheckpoints } from '../../ledger/audit-read';
import { sqliteEngine } from '../../ledger/sqlite-engine';
import { openStore } from '../../ledger/open-store';
import { run, temporaryFolder } from '../support/cli';

let folder: string;
let env: NodeJS.ProcessEnv;
let publicKey: string;

/** A ledger with three facts, whose head is signed, and the key of its worker. */
beforeAll(async () => {
  folder = temporaryFolder();
  const { privateKey } = generateReviewerKey();
  publicKey = publicKeyOf(privateKey);
  const keyFile = join(folder, 'permit.pem');
  writeFileSync(keyFile, privateKey, { mode: 0o600 });
  env = { HOLDPOINT_LEDGER_URL: `file:${join(folder, 'ledger.db')}`, HOLDPOINT_PERMIT_KEY_FILE: keyFile };
  const log = pino({ level: 'silent' });
  const store = await openStore(env['HOLDPOINT_LEDGER_URL'] ?? '', log);
  for (const name of ['one', 'two', 'three']) {
    await store.write(async (tx) => {
      tx.fact({ kind: 'test.fact', operationId: null, body: { name } });
    });
  }
  await createCheckpointer({ store, key: createPrivateKey(privateKey), log }).stop();
  const kept = (await readCheckpoints(store.db)).map((checkpoint) => JSON.stringify(checkpoint)).join('\n');
  writeFileSync(join(folder, 'kept.jsonl'), `${kept}\n`);
  await store.close();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('holdpoint audit verify', () => {
  test("checks the ledger with the worker's own key", async () => {
    const { code, stdout } = await run(['audit', 'verify'], { env });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^The audit holds: 3 records, the last one #3 [0-9a-f]{12}…; 1 checkpoint with a valid signature\.\nThe rows hold: 0 rows of requests, decisions, grants, operations and policies compared with the audit, none differs\.\n$/,
    );
  });

  test('names a row that is not what the audit says', async () => {
    const path = join(folder, 'forged.db');
    const forged = { ...env, HOLDPOINT_LEDGER_URL: `file:${path}` };
    await (await openStore(forged.HOLDPOINT_LEDGER_URL, pino({ level: 'silent' }))).close();
    const database = (await sqliteEngine()).open(path);
    database.exec(
      `insert into policies (version, digest, file_name, text, compiled, applied_by, applied_at, active)
       values (1, 'd', 'f', 't', '{}', 'zed', 1, 1)`,
    );
    database.close();
    expect(await run(['audit', 'verify'], { env: forged })).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^The audit does NOT hold: 0 problems in 0 records, 1 problem in 1 row[^\n]*\.\n {2}policies 1: is in no record of the audit\n$/,
      ),
    });
  });

  test('says what it could not check, and what that is worth', async () => {
    const { HOLDPOINT_PERMIT_KEY_FILE: _, ...keyless } = env;
    const { code, stdout } = await run(['audit', 'verify'], { env: keyless });
    expect(code).toBe(0);
    expect(stdout).toContain(
      '0 checkpoints with a valid signature; 1 checkpoint not checked: their key was not given.',
    );
    expect(stdout).toContain('a chain rewritten as a whole looks the same');
  });

  test.each([
    { args: ['--key', 'ed25519:short'], code: 2 },
    { args: ['--key', '/nowhere.pem'], code: 2 },
    { args: ['nowhere.jsonl'], code: 2 },
    { args: ['--checkpoints', '/nowhere.jsonl'], code: 2 },
  ])('$args ends with $code', async ({ args, code }) => {
    expect((await run(['audit', 'verify', ...args], { env, cwd: folder })).code).toBe(code);
  });
});

describe('holdpoint audit export', () => {
  test('can be verified without the ledger, and finds what was changed or cut off', async () => {
    const file = join(folder, 'audit.jsonl');
    const exported = await run(['audit', 'export', '--out', file], { env });
    expect(exported).toEqual({ code: 0, stdout: '', stderr: `The audit is in ${file}.\n` });
    const text = readFileSync(file, 'utf8');
    expect((await run(['audit', 'export'], { env })).stdout.split('\n').slice(1)).toEqual(text.split('\n').slice(1));
    const verify = (name: string, ...more: string[]) =>
      run(['audit', 'verify', name, '--key', publicKey, ...more], { cwd: folder });
    expect(await verify('audit.jsonl')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('1 checkpoint with a valid signature'),
    });
    writeFileSync(join(folder, 'changed.jsonl'), text.replace('\\"two\\"', '\\"TWO\\"'));
    expect(await verify('changed.jsonl')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/The audit does NOT hold: 1 problem in 3 records\.\n {2}#2 {2}changed: /),
    });
    const cut = text.split('\n').filter((line) => !line.includes('"line":"checkpoint"') && !line.includes('"seq":3'));
    const end = JSON.stringify({ line: 'end', seq: 2, hash: hashOf(text, 2) });
    writeFileSync(join(folder, 'cut.jsonl'), [...cut.filter((line) => line !== ''), end].join('\n'));
    expect((await verify('cut.jsonl')).code).toBe(0);
    const withKept = await verify('cut.jsonl', '--checkpoints', 'kept.jsonl', '--json');
    expect(withKept.code).toBe(1);
    expect(JSON.parse(withKept.stdout)).toMatchObject({ ok: false, problems: [{ seq: 3, what: 'truncated' }] });
  });

  test('replaces no file', async () => {
    writeFileSync(join(folder, 'mine.txt'), 'mine');
    expect(await run(['audit', 'export', '--out', 'mine.txt'], { env, cwd: folder })).toMatchObject({ code: 1 });
    expect(readFileSync(join(folder, 'mine.txt'), 'utf8')).toBe('mine');
  });
});

function hashOf(text: string, seq: number): string {
  const lines = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { line: string; seq?: number; hash?: string });
  return lines.find((line) => line.line === 'record' && line.seq === seq)?.hash ?? '';
}
