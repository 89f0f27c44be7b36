import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { assertBuilt, startProcess, temporaryFolder, type CliProcess } from '../support/cli';
import { eventually } from '../support/eventually';
import { processesWith } from '../support/processes';

const DEMO = join(__dirname, '../../dist/examples/gateway-demo/demo.js');

let folder: string;
let running: CliProcess[];

beforeAll(assertBuilt);

beforeEach(() => {
  folder = temporaryFolder();
  mkdirSync(join(folder, 'tmp'));
  running = [];
});

afterEach(async () => {
  for (const demo of running) demo.signal('SIGKILL');
  await Promise.all(running.map((demo) => demo.exited));
  rmSync(folder, { recursive: true, force: true });
});

function startDemo(temporal = process.env['HOLDPOINT_TEST_TEMPORAL_CLI']): CliProcess {
  const env = { TMPDIR: join(folder, 'tmp'), TEMPORAL_CLI_PATH: temporal };
  const demo = startProcess(DEMO, [], { cwd: folder, env });
  running.push(demo);
  return demo;
}

/** Neither a process nor a file. */
async function expectNothingLeft(): Promise<void> {
  await eventually(() => expect(processesWith(folder)).toEqual([]), 15_000);
  expect(readdirSync(join(folder, 'tmp')).filter((name) => name.startsWith('holdpoint-demo-'))).toEqual([]);
}

describe('npm run demo:gateway', () => {
  test('tells the whole story of a real client and a real server, and leaves nothing behind', async () => {
    const startedAtMs = Date.now();
    const demo = startDemo();
    const code = await demo.exited;
    const { stdout, stderr } = demo.output;
    expect({ code, failed: stderr.includes('failed:') ? stderr : '' }).toEqual({ code: 0, failed: '' });
    expect(Date.now() - startedAtMs).toBeLessThan(60_000);
    const story = [
      /http:\/\/127\.0\.0\.1:\d+\/mcp\/files: secure-filesystem-server/,
      /14 tools: .*write_file/,
      /list_directory\n.*\[FILE\] plan\.txt/,
      /read_text_file\n.*Order the cake on Friday\./,
      /on record: 0 approval requests, 0 operations, since no rule asks/,
      /write_file\n.*NOT EXECUTED: this call waits for approval by a person/,
      /_meta\["dev\.holdpoint\/approval"\]: status pending, operationId op_\w+, rule changes-of-files/,
      /the folder on disk: plan\.txt\n/,
      /files \/ write_file {2}waits for a decision/,
      /on record: allow by dana, signature verified/,
      /write_file\n.*Successfully wrote to .*invitation\.txt/,
      /: status approved, operationId op_\w+, rule changes-of-files @ \w+, permittedRule changes-of-files @ \w+, grantId gr_\w+\.1, verified true, replayed false/,
      /the folder on disk: invitation\.txt, plan\.txt\n/,
      /on record: op_\w+ executed, attempt 1/,
      /allowed by dana, signed; asked by rule changes-of-files/,
      /NOT RUN AGAIN: /,
      /verified true, replayed true/,
      /invitation\.txt was last changed at (\S+); before this call it was \1; sent to the server: 1 time\n/,
      /on record: deny by dana, signature verified: "the plan stays as it is; write a new file"/,
      /write_file {2}isError: true\n.*DENIED: not executed\./,
      /: status denied, /,
      /plan\.txt on disk: Order the cake on Friday\.\n/,
      /the audit holds: \d+ records in one hash chain/,
      /every process has ended and the temporary folder is gone\.\n$/,
    ];
    let from = 0;
    for (const line of story) {
      const found = line.exec(stdout.slice(from));
      expect({ line: String(line), found: found !== null }).toEqual({ line: String(line), found: true });
      from += found?.index ?? 0;
    }
    await expectNothingLeft();
  }, 90_000);

  test.each(['SIGINT', 'SIGHUP'] as const)('cleans up when it is stopped half way by %s', async (signal) => {
    const demo = startDemo();
    await eventually(() => expect(demo.output.stdout).toContain('2  It writes a file'), 45_000);
    demo.signal(signal);
    expect(await demo.exited).toBe(130);
    expect(demo.output.stderr).toMatch(/Stopped: every process has ended and the temporary folder is gone\.\n$/);
    await expectNothingLeft();
  });

  test('says that a process died, cleans up, and ends with 1', async () => {
    const demo = startDemo();
    await eventually(() => expect(demo.output.stdout).toContain('2  It writes a file'), 45_000);
    const [gateway] = processesWith('cli/main.js gateway').filter((line) => isChildOf(line, demo.pid));
    process.kill(Number.parseInt(gateway ?? '', 10), 'SIGKILL');
    expect(await demo.exited).toBe(1);
    expect(demo.output.stderr).toContain('The demo failed: Error: a process of the demo has ended:');
    await expectNothingLeft();
  }, 90_000);

  test('says what it needs where there is no Temporal, and leaves nothing behind', async () => {
    const demo = startDemo('/nowhere/temporal');
    expect(await demo.exited).toBe(1);
    expect(demo.output.stderr).toContain('/nowhere/temporal does not run as the Temporal CLI');
    await expectNothingLeft();
  });
});

/** Whether the process of a line of `ps` was started by `pid`. */
function isChildOf(line: string, pid: number): boolean {
  const status = readFileSync(`/proc/${Number.parseInt(line, 10)}/status`, 'utf8');
  return status.includes(`PPid:\t${pid}\n`);
}
