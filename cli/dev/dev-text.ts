import { join, relative } from 'node:path';
import type { Paint } from '../paint';
import { STATE_DIR } from '../place';
import { safe } from '../text';
import type { DevFile } from './dev-file';
import { EXAMPLE_TURN_FILE } from './example';

/** The list of turns that wait for people, in the Temporal UI. */
function waitingTurnsUrl({ temporal }: Pick<DevFile, 'temporal'>): string {
  const query = 'WorkflowType = "agentTurn" AND ExecutionStatus = "Running" AND HoldpointState = "pending"';
  return `${temporal.uiUrl}/namespaces/${temporal.namespace}/workflows?query=${encodeURIComponent(query)}`;
}

interface Shown {
  readonly dev: DevFile;
  readonly stateDir: string;
  readonly cwd: string;
  readonly paint: Paint;
}

/** What runs where, who is who, and what to type next. */
export function devText({ dev, stateDir, cwd, paint }: Shown): string {
  const { temporal, agent, reviewer, example, healthUrl } = dev;
  const near = (path: string): string => safe(shorter(relative(cwd, path) || '.', path));
  const state = stateDir === join(cwd, STATE_DIR) ? '' : ` --state ${near(stateDir)}`;
  const rows: readonly (readonly [string, string])[] = [
    ['waiting turns', waitingTurnsUrl(dev)],
    ['all turns', `${temporal.uiUrl}/namespaces/${temporal.namespace}/workflows`],
    ['Temporal', `${temporal.address}, namespace ${temporal.namespace}`],
    ['permit keys', `${healthUrl}/.well-known/jwks.json`],
    ...(example === null ? [] : ([['example tools', `${example.url}, on ${near(example.database)}`]] as const)),
    ['state', `${near(stateDir)} (ledger, Temporal's file, keys, logs)`],
  ];
  const people = [
    `  agent           ${safe(agent.subject)} through ${safe(agent.agent)}: starts turns`,
    `  reviewer        ${safe(reviewer.name)}, another person: decides, signing with ${near(reviewer.keyFile)}`,
  ];
  const turn = example === null ? 'FILE' : near(EXAMPLE_TURN_FILE);
  return [
    paint.bold('Holdpoint is running.') + ' Ctrl-C stops all of it; the state stays.',
    '',
    ...rows.map(([name, value]) => `  ${name.padEnd(16)}${value}`),
    '',
    ...people,
    '',
    paint.red('  TRUST: namespace. Unsigned decisions count as well, as UNVERIFIED. For development only.'),
    '',
    'In another terminal of this folder:',
    `  holdpoint turn start${state} ${turn}`,
    `  holdpoint requests${state}`,
    `  holdpoint show${state} ID`,
    `  holdpoint allow${state} ID        or: holdpoint deny${state} ID --reason TEXT`,
    `  holdpoint turn results${state} ID`,
    `An agent runtime connects with TEMPORAL_ADDRESS=${temporal.address}`,
  ].join('\n');
}

function shorter(a: string, b: string): string {
  return a.length <= b.length ? a : b;
}
