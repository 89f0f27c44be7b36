import { join } from 'node:path';
import { startChild, type Child } from '../../worker/child-process';
import { CliFailure } from '../failure';
import { childEnv, type ChildPlace } from './child-env';
import { logFile } from './log-file';
import type { Ports } from './ports';

export type PartName = 'worker' | 'gateway' | 'console';

/** A process of the stack that is a command of this package, and that needs an active policy. */
export interface Part {
  /** The command, and the name of its log. */
  readonly name: PartName;
  /** What it logs when it is there for others. */
  readonly ready: RegExp;
  /** The port that it listens on. */
  readonly port: keyof Ports;
  /** What it is told beside what every part is told. */
  readonly env: (place: ChildPlace) => NodeJS.ProcessEnv;
}

const READY_MS = 30_000;

/**
 * Runs a part as a process of its own, and waits until it is ready. Something else may have taken its port.
 * @param onStarted gets the process as soon as there is one, so that it can be stopped while it starts.
 */
export async function startPart(
  part: Part,
  place: ChildPlace,
  onStarted: (child: Child) => void,
): Promise<Child | 'portTaken'> {
  const { name, ready, env } = part;
  const started = await startChild({
    command: process.execPath,
    args: [...process.execArgv, require.resolve('../main'), name],
    env: { ...(await childEnv(place)), ...env(place) },
    onLine: logFile(join(place.stateDir, `${name}.log`)),
  });
  if (!started.ok) throw new CliFailure('unreachable', `The ${name}: ${started.detail}.`);
  const { child } = started;
  onStarted(child);
  if ((await child.waitForLine(ready, READY_MS)) !== undefined) return child;
  await child.stop();
  if (child.recentOutput().includes('[PORT_TAKEN]')) return 'portTaken';
  throw new CliFailure('unreachable', `The ${name} did not start:\n${child.recentOutput()}`);
}

const WORKER: Part = { name: 'worker', ready: /"worker\.ready"/, port: 'health', env: () => ({}) };

const GATEWAY: Part = {
  name: 'gateway',
  ready: /"gateway\.listening"/,
  port: 'gateway',
  env: ({ dev }) => ({
    HOLDPOINT_GATEWAY_HOST: '127.0.0.1',
    HOLDPOINT_GATEWAY_PORT: dev.gateway === undefined ? '0' : new URL(dev.gateway.url).port,
    HOLDPOINT_GATEWAY_PUBLIC_URL: '',
    HOLDPOINT_GATEWAY_TOKENS: dev.gateway?.tokensFile ?? '',
    HOLDPOINT_CONSOLE_URL: dev.console?.url ?? '',
  }),
};

const CONSOLE: Part = {
  name: 'console',
  ready: /"console\.listening"/,
  port: 'console',
  env: ({ dev }) => ({
    HOLDPOINT_CONSOLE_HOST: '127.0.0.1',
    HOLDPOINT_CONSOLE_PORT: dev.console === undefined ? '0' : new URL(dev.console.url).port,
    HOLDPOINT_CONSOLE_PUBLIC_URL: '',
    HOLDPOINT_CONSOLE_KEY_FILE: dev.console?.keyFile ?? '',
    HOLDPOINT_CONSOLE_SIGNING_KEY_FILE: dev.console?.signingKeyFile ?? '',
  }),
};

export const PARTS: Readonly<Record<PartName, Part>> = { worker: WORKER, gateway: GATEWAY, console: CONSOLE };
