import { join, relative } from 'node:path';
import type { Policy } from '../../core/policy';
import type { Active } from '../../ledger/ledger';
import type { Paint } from '../paint';
import { STATE_DIR } from '../place';
import { safe } from '../text';
import type { DevFile } from './dev-file';
import { EXAMPLE_TURN_FILE } from './example';
import { decidesUnnamed, peopleText, type DevReviewer } from './people-text';

/** The list of turns that wait for people, in the Temporal UI. */
function waitingTurnsUrl({ temporal }: Pick<DevFile, 'temporal'>): string {
  const query = 'WorkflowType = "agentTurn" AND ExecutionStatus = "Running" AND HoldpointState = "pending"';
  return `${temporal.uiUrl}/namespaces/${temporal.namespace}/workflows?query=${encodeURIComponent(query)}`;
}

export interface Shown {
  readonly dev: DevFile;
  readonly reviewer: DevReviewer;
  /** Null where no policy is active: then nobody may do anything. */
  readonly active: Active | null;
  /** What the user types to get this command. */
  readonly command: string;
  readonly stateDir: string;
  readonly cwd: string;
  readonly paint: Paint;
}

/** What runs where, who is who, and what to type next. */
export function devText(shown: Shown): string {
  const { dev, stateDir, cwd, paint, active } = shown;
  const { temporal, example, healthUrl } = dev;
  const near = (path: string): string => safe(shorter(relative(cwd, path) || '.', path));
  const rows: readonly (readonly [string, string])[] = [
    ...(dev.console === undefined ? [] : ([['console', dev.console.url]] as const)),
    ['waiting turns', waitingTurnsUrl(dev)],
    ['all turns', `${temporal.uiUrl}/namespaces/${temporal.namespace}/workflows`],
    ['Temporal', `${temporal.address}, namespace ${temporal.namespace}`],
    ['permit keys', `${healthUrl}/.well-known/jwks.json`],
    ...(example === null ? [] : ([['example tools', `${example.url}, on ${near(example.database)}`]] as const)),
    ['state', `${near(stateDir)} (ledger, Temporal's file, keys, logs)`],
  ];
  return [
    paint.bold('Holdpoint is running.') + ' Ctrl-C stops all of it; the state stays.',
    '',
    ...rows.map(([name, value]) => `  ${name.padEnd(16)}${value}`),
    '',
    ...(active === null ? [] : [whoText({ ...shown, active }), '']),
    ...nextText(shown, near),
    `An agent runtime connects with TEMPORAL_ADDRESS=${temporal.address}`,
    ...clientText(shown),
  ].join('\n');
}

/** What is new once a first policy is active. */
export function upText(shown: Shown): string {
  const { active } = shown;
  const who = active === null ? [] : [whoText({ ...shown, active }), ''];
  return ['Worker, gateway and console are up.', ...who, ...clientText(shown)].join('\n');
}

/** Where a client of MCP goes, and with whose token. */
function clientText({ dev: { gateway, agent }, active, cwd }: Shown): readonly string[] {
  if (gateway === undefined) return [];
  const names = active === null ? ['SERVER'] : Object.keys(active.policy.servers);
  const tokenFile = safe(shorter(relative(cwd, gateway.tokenFile), gateway.tokenFile));
  return [
    'Any MCP client (docs/clients.md) connects to',
    ...names.map((name) => `  ${gateway.url}/mcp/${safe(name)}`),
    `with the header "Authorization: Bearer TOKEN". The token of ${safe(agent.subject)} through ${safe(agent.agent)}: cat ${tokenFile}`,
  ];
}

/** Who may do what by the active policy, and what an unsigned decision is worth. */
function whoText({ dev, reviewer, active, cwd, paint }: Shown & { readonly active: Active }): string {
  const keyFile = shorter(relative(cwd, reviewer.keyFile), reviewer.keyFile);
  const trust =
    active.trust === 'namespace'
      ? paint.red('  TRUST: namespace. Unsigned decisions count as well, as UNVERIFIED. For development only.')
      : '  Trust: signatures. Unsigned decisions do not count.';
  const people = peopleText(active.policy, { agent: dev.agent, reviewer: { ...reviewer, keyFile } });
  return [...people, ...consoleText(dev, active.policy), '', trust].join('\n');
}

/** What a policy lacks whose people decide in this console. */
function consoleText({ console }: DevFile, policy: Policy): readonly string[] {
  if (console === undefined || policy.console?.keys.includes(console.publicKey) === true) return [];
  return [
    '  console         the policy lists no key of it, so its decisions do not count where people have keys: add',
    `                  console: { key: '${console.publicKey}' }`,
  ];
}

function nextText(
  { dev, reviewer, active, stateDir, cwd, command }: Shown,
  near: (path: string) => string,
): readonly string[] {
  const state = stateDir === join(cwd, STATE_DIR) ? '' : ` --state ${near(stateDir)}`;
  const as = active === null || decidesUnnamed(active.policy, reviewer) ? '' : ' --as NAME';
  const turn = dev.example === null ? 'FILE' : near(EXAMPLE_TURN_FILE);
  return [
    'In another terminal of this folder:',
    `  ${command} turn start${state} ${turn}`,
    `  ${command} requests${state}`,
    `  ${command} show${state} ID`,
    `  ${command} allow${state} ID${as}        or: ${command} deny${state} ID${as} --reason TEXT`,
    `  ${command} turn results${state} ID`,
    `  ${command} console link${state}        prints where a browser signs in to decide`,
  ];
}

function shorter(a: string, b: string): string {
  return a.length <= b.length ? a : b;
}
