import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Policy } from '../../core/policy';
import { parsePolicyFile } from '../../core/policy-file';
import { serverOf } from '../../core/policy-lookup';
import type { Ledger } from '../../ledger/ledger';
import { activePolicyText } from '../../ledger/queries';
import { startChild, type Child } from '../../worker/child-process';
import { CliFailure } from '../failure';
import { PACKAGE_DIR } from '../version';
import { logFile } from './log-file';
import { writeKeySet, type LocalConsole, type LocalReviewer } from './state-folder';

/** Who asks and who decides in the worked example: two people, so that nobody approves what is theirs. */
export const EXAMPLE_AGENT = { subject: 'user:amira', agent: 'support-bot' } as const;
export const EXAMPLE_REVIEWER = 'dana';
const EXAMPLE_SERVER = 'orders-db';

export const EXAMPLE_TURN_FILE = join(PACKAGE_DIR, 'examples/production-migration/turn.json');
const POLICY_FILE = join(PACKAGE_DIR, 'examples/production-migration/policy.yaml');

const POLICY_NAME = 'example/policy.yaml';
const APPLIED_BY = 'holdpoint dev';

const READY_MS = 20_000;

/** The folder of the example's databases in a state folder. */
export function exampleDataDir(stateDir: string): string {
  return join(stateDir, 'example');
}

/** The database that the example calls production. */
export function exampleDatabase(stateDir: string): string {
  return join(exampleDataDir(stateDir), 'orders-production.db');
}

/** Runs the example's MCP server as a process of its own. */
export async function startExample(stateDir: string, port: number): Promise<Child> {
  const started = await startChild({
    command: process.execPath,
    args: [...process.execArgv, require.resolve('../../examples/production-migration/server')],
    env: {
      ...process.env,
      EXAMPLE_PORT: String(port),
      EXAMPLE_DATA_DIR: exampleDataDir(stateDir),
      HOLDPOINT_JWKS: await writeKeySet(stateDir),
    },
    onLine: logFile(join(stateDir, 'example.log')),
  });
  if (!started.ok) throw new CliFailure('unreachable', `The example server: ${started.detail}.`);
  const { child } = started;
  if ((await child.waitForLine(/listens at/, READY_MS)) !== undefined) return child;
  await child.stop();
  throw new CliFailure('unreachable', `The example server did not start:\n${child.recentOutput()}`);
}

/** The example's policy with the address at which its server listens and the keys of its reviewer and of the console. */
export async function examplePolicy(
  url: string,
  { reviewer, console }: { readonly reviewer: LocalReviewer; readonly console: LocalConsole },
): Promise<string> {
  const text = await readFile(POLICY_FILE, 'utf8');
  const filled = text
    .replace("'http://127.0.0.1:4100/mcp'", JSON.stringify(url))
    .replace(
      `${EXAMPLE_REVIEWER}: { groups: [dba] }`,
      `${EXAMPLE_REVIEWER}: { groups: [dba], key: '${reviewer.publicKey}' }`,
    );
  const forConsole = `\nconsole:\n  key: '${console.publicKey}'\n  operators: { groups: [dba] }\n`;
  if (filled.includes(url) && filled.includes(reviewer.publicKey)) return `${filled}${forConsole}`;
  throw new TypeError('the policy of the example has no place for the address or the key');
}

/** Whose policy is active: the example's own, somebody's, or none. */
export async function activeKind(ledger: Ledger): Promise<'example' | 'own' | 'none'> {
  const [active, file] = await Promise.all([ledger.activePolicy(), activePolicyText(ledger.store.db)]);
  if (active === null || file === null) return 'none';
  return active.appliedBy === APPLIED_BY && file.fileName === POLICY_NAME ? 'example' : 'own';
}

/** Whether a policy, such as an edited copy of the example's, leads to the example's server at this address. */
export function namesExample(policy: Policy, url: string): boolean {
  const transport = serverOf(policy, EXAMPLE_SERVER)?.transport;
  return transport?.kind === 'http' && transport.url === url;
}

/** Makes the example's policy the active one; one that somebody applied since stays. */
export async function applyExamplePolicy(ledger: Ledger, text: string): Promise<void> {
  if ((await activeKind(ledger)) === 'own') return;
  const parsed = parsePolicyFile(text, POLICY_NAME);
  if (!parsed.ok) throw new TypeError(parsed.problems.map(({ line, message }) => `${line}: ${message}`).join('; '));
  await ledger.applyPolicy({ text, fileName: POLICY_NAME, policy: parsed.policy, by: APPLIED_BY });
}
