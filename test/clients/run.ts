import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { listRequests } from '../../ledger/queries';
import { startGatewayStage, type GatewayStage } from '../support/gateway-stage';
import { startServices, stopServices } from '../support/services';

const run = promisify(execFile);

const HELP = `Tries real MCP clients against a gateway: what each makes of a call that is pending, denied and executed.

  npm install --prefix test/clients          (and, for the Python ones: pip install openai-agents fastmcp)
  npm run test:clients -- [--node FILE] [--python FILE]

  --node FILE     a Node >= 22, which some clients need; this one by default
  --python FILE   a Python that has openai-agents and fastmcp; without it those clients are left out`;

/** What a client made of an answer: what it hands to a model, or the error that it throws. */
interface Told {
  readonly client: string;
  readonly answer: unknown;
  readonly thrown: string | null;
}

interface Tools {
  readonly '.mjs': string | undefined;
  readonly '.py': string | undefined;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      node: { type: 'string', default: process.execPath },
      python: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return;
  }
  await startServices(new Set(['temporal']));
  const stage = await startGatewayStage();
  try {
    await tryAll(stage, { '.mjs': values.node, '.py': values.python });
  } finally {
    await stage.close();
    await stopServices();
  }
}

async function tryAll(stage: GatewayStage, tools: Tools): Promise<void> {
  const files = (await readdir(__dirname)).filter((file) => isProgram(file) && file !== 'told.mjs').sort();
  const counts = { passed: 0, failed: 0 };
  for (const file of files) {
    const runner = extname(file) === '.py' ? tools['.py'] : tools['.mjs'];
    if (runner === undefined) console.log(`- ${file}: left out, no runner for it was given`);
    else for (const line of await tryOne(stage, runner, file)) count(counts, line);
  }
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  if (counts.failed > 0) process.exitCode = 1;
}

function isProgram(file: string): boolean {
  return file.endsWith('.mjs') || file.endsWith('.py');
}

interface Verdict {
  readonly what: string;
  readonly fault: string | null;
}

function count(counts: { passed: number; failed: number }, { what, fault }: Verdict): void {
  counts[fault === null ? 'passed' : 'failed'] += 1;
  console.log(`${fault === null ? '✓' : '✗'} ${what}${fault === null ? '' : `: ${fault}`}`);
}

/** Pending, then denied, then pending again, allowed and executed. */
async function tryOne(stage: GatewayStage, runner: string, file: string): Promise<readonly Verdict[]> {
  const sql = `ADD COLUMN by_${file.replaceAll(/\W/g, '_')}`;
  const call = () => toldBy(stage, { runner, file, sql });
  const pending = await call();
  await decide(stage, sql, 'deny');
  const denied = await call();
  await call();
  await decide(stage, sql, 'allow');
  const executed = await call();
  const ran = stage.tools.runs.filter(({ arguments: given }) => given['sql'] === sql).length;
  return [
    ...pending.map((told) => verdict(told, 'pending', isPending(told))),
    ...denied.map((told) => verdict(told, 'denied', isDenied(told))),
    ...executed.map((told) => verdict(told, 'executed', isExecuted(told))),
    { what: `${file} caused one effect`, fault: ran === 1 ? null : `it caused ${ran}` },
  ];
}

function verdict(told: Told, what: string, isRight: boolean): Verdict {
  const shown = JSON.stringify(told).slice(0, 600);
  return { what: `${told.client}: ${what}`, fault: isRight ? null : shown };
}

/** No error, and whatever reaches the model says that nothing was executed. */
function isPending({ answer, thrown }: Told): boolean {
  return thrown === null && JSON.stringify(answer).includes('NOT EXECUTED');
}

/** An error for the client, or a text that says so to the model. */
function isDenied({ answer, thrown }: Told): boolean {
  return (thrown ?? JSON.stringify(answer)).includes('DENIED: not executed');
}

function isExecuted({ answer, thrown }: Told): boolean {
  return thrown === null && !/NOT EXECUTED|DENIED/.test(JSON.stringify(answer));
}

async function toldBy(
  stage: GatewayStage,
  { runner, file, sql }: { readonly runner: string; readonly file: string; readonly sql: string },
): Promise<readonly Told[]> {
  const env = {
    ...process.env,
    HOLDPOINT_URL: `${stage.gateway.url}/mcp/orders-db`,
    HOLDPOINT_TOKEN: stage.token('u1', file),
    HOLDPOINT_TOOL: 'apply_migration',
    HOLDPOINT_ARGUMENTS: JSON.stringify({ environment: 'production', sql }),
  };
  const { stdout } = await run(runner, [join(__dirname, file)], { env, timeout: 120_000 });
  const lines = stdout.split('\n').filter((line) => line.startsWith('told '));
  if (lines.length === 0) throw new Error(`${file} said nothing:\n${stdout}`);
  return lines.map((line) => JSON.parse(line.slice('told '.length)) as Told);
}

async function decide(stage: GatewayStage, sql: string, answer: 'allow' | 'deny'): Promise<void> {
  const open = (await listRequests(stage.store.db)).filter(({ request }) => request.arguments['sql'] === sql);
  for (const { request } of open) await stage.decide(request, answer, { reason: 'for the test' });
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
