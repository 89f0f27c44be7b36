import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { assertBuilt, bareEnvironment, temporaryFolder } from '../support/cli';
import { eventually } from '../support/eventually';
import { processesWith } from '../support/processes';

const DEMO = join(__dirname, '../../dist/examples/production-migration/demo.js');

let folder: string;

beforeAll(assertBuilt);

beforeEach(() => {
  folder = temporaryFolder();
  mkdirSync(join(folder, 'tmp'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Demo {
  readonly child: ChildProcess;
  readonly output: { text: string };
  readonly exited: Promise<number | null>;
}

function startDemo(): Demo {
  const env = {
    ...bareEnvironment(),
    TMPDIR: join(folder, 'tmp'),
    TEMPORAL_CLI_PATH: process.env['HOLDPOINT_TEST_TEMPORAL_CLI'],
  };
  const child = spawn(process.execPath, [DEMO], { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { text: '' };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output.text += text));
  return { child, output, exited: once(child, 'close').then(([code]) => code as number | null) };
}

async function expectNothingLeft(): Promise<void> {
  await eventually(() => expect(processesWith(folder)).toEqual([]), 15_000);
  expect(readdirSync(join(folder, 'tmp')).filter((name) => name.startsWith('holdpoint-demo-'))).toEqual([]);
}

describe('npm run demo', () => {
  test('tells the whole story, with what is on record, and leaves nothing behind', async () => {
    const demo = startDemo();
    const code = await demo.exited;
    const { text } = demo.output;
    expect({ code, failed: text.includes('failed:') ? text : '' }).toEqual({ code: 0, failed: '' });
    const story = [
      /c1 {2}orders-db \/ read_rows: executed at once, since no rule asks/,
      /c2 {2}orders-db \/ apply_migration: waits, and nothing was sent/,
      /the database: schema version 7, orders \(.*legacy_note\), 0 migrations applied/,
      /waits for a decision/,
      /│ ALTER TABLE orders DROP COLUMN legacy_note/,
      /│ - orders\.legacy_note TEXT/,
      /on record: allow by dana, signature verified/,
      /tool server {2}received apply_migration\n.*tool server {2}received find_migration\n.*operation\.executed, proven by the look-up/,
      /the database: schema version 8, orders \((?!.*legacy_note).*\), 1 migration applied/,
      /allowed by dana, signed/,
      /asked by rule production-migrations @ \w+, permitted by rule production-migrations @ \w+/,
      /request\.stale \("resourceChanged"\); revision 2 is open/,
      /operations sent: none; migrations that the tool server received since: 0/,
      /on record: deny by dana, signature verified: "the schema has moved: plan it again"/,
      /DENIED: not executed/,
      /the database: schema version 9, .* 1 migration applied/,
      /the audit holds: \d+ records in one hash chain/,
    ];
    let from = 0;
    for (const line of story) {
      const found = line.exec(text.slice(from));
      expect({ line: String(line), found: found !== null }).toEqual({ line: String(line), found: true });
      from += found?.index ?? 0;
    }
    await expectNothingLeft();
  }, 90_000);

  test('cleans up when it is stopped half way', async () => {
    const demo = startDemo();
    await eventually(() => expect(demo.output.text).toContain('reads what would run'), 45_000);
    demo.child.kill('SIGINT');
    expect(await demo.exited).toBe(130);
    expect(demo.output.text).toMatch(/Stopped: every process has ended and the temporary folder is gone\.\n$/);
    await expectNothingLeft();
  }, 90_000);
});
