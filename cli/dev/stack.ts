import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pino from 'pino';
import { createLedger, type Ledger } from '../../ledger/ledger';
import { openStore } from '../../ledger/open-store';
import type { Child } from '../../worker/child-process';
import { freePort } from '../../worker/free-port';
import { findTemporalBinary } from '../../worker/temporal-binary';
import { startTemporalServer, type TemporalServer } from '../../worker/temporal-server';
import { TASK_QUEUE } from '../../workflows/messages';
import { CliFailure } from '../failure';
import { LEDGER_FILE } from '../place';
import { ensureAgentToken } from './agent-token';
import { binaryDir } from './binary-dir';
import { removeDevFile, writeDevFile, type DevFile } from './dev-file';
import {
  activeKind,
  applyExamplePolicy,
  EXAMPLE_AGENT,
  EXAMPLE_REVIEWER,
  exampleDatabase,
  examplePolicy,
  namesExample,
  startExample,
} from './example';
import { logFile } from './log-file';
import { choosePorts, keepPorts, type Ports } from './ports';
import { ensureConsole, ensurePermitKey, ensureReviewer, localUserName, type LocalReviewer } from './state-folder';
import { PARTS, startPart, type Part, type PartName } from './start-part';

export interface StackOptions {
  /** Made already, and held by this process. */
  readonly stateDir: string;
  /** Null: unless somebody's own policy is active. */
  readonly example: boolean | null;
  /** Where nothing was started before; `any` for stacks that come and go side by side. */
  readonly ports: 'usual' | 'any';
  /** Who asks and who decides; those of the example, or the user of this machine, by default. */
  readonly people?: { readonly agent: DevFile['agent']; readonly reviewer: string };
  /** Told before each step that may take more than a second, and where something runs elsewhere than it was to. */
  readonly onProgress: (step: string) => void;
}

/** What `holdpoint dev` keeps running. Every process in it ends with this one, however that ends. */
export interface Stack {
  /** As of now: the addresses of worker, gateway and console may change. */
  readonly dev: DevFile;
  readonly temporal: TemporalServer;
  readonly example: Child | null;
  readonly policy: 'example' | 'own' | 'none';
  readonly reviewer: LocalReviewer;
  /** Starts a process of the stack; there may be one of each name at a time. */
  start(name: PartName): Promise<Child>;
  /** Stops what was started in the reverse order, Temporal last. Safe to call twice. */
  stop(): Promise<void>;
}

const NAMESPACE = 'default';
const PART_GRACE_MS = 10_000;
const PART_ATTEMPTS = 3;

/** Starts everything but worker, gateway and console, which need an active policy. What was started is stopped where a step fails. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).reverse()) await each();
  };
  try {
    return await start(options, { stops, stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Stopping {
  readonly stops: (() => Promise<unknown>)[];
  readonly stop: () => Promise<void>;
}

async function start(options: StackOptions, { stops, stop }: Stopping): Promise<Stack> {
  const { stateDir, onProgress } = options;
  const ports = await choosePorts(stateDir, options.ports);
  const temporal = await startTemporal(options, ports);
  stops.push(() => temporal.stop());
  const ledgerUrl = pathToFileURL(join(stateDir, LEDGER_FILE)).href;
  const permitKeyFile = await ensurePermitKey(stateDir);
  const urls = urlsOf(ports);
  const withExample = options.example ?? (await wantsExample(ledgerUrl, urls.example));
  const people = options.people ?? (withExample ? EXAMPLE_PEOPLE : { agent: DEVELOPER, reviewer: localUserName() });
  const reviewer = await ensureReviewer(stateDir, people.reviewer);
  if (withExample) onProgress('starting the example server');
  const example = withExample ? await startExample(stateDir, ports.example) : null;
  if (example !== null) stops.push(() => example.stop());
  const console = await ensureConsole(stateDir);
  const filled = withExample ? await examplePolicy(urls.example, { reviewer, console }) : null;
  const policy = await policyOf(ledgerUrl, filled);
  await keepPorts(stateDir, ports);
  const dev: DevFile = {
    v: 1,
    pid: process.pid,
    startedAtMs: Date.now(),
    temporal: { address: temporal.address, namespace: NAMESPACE, uiUrl: temporal.uiUrl ?? '' },
    taskQueue: TASK_QUEUE,
    ledgerUrl,
    healthUrl: urls.health,
    permitKeyFile,
    agent: people.agent,
    reviewer: { name: reviewer.name, keyFile: reviewer.keyFile },
    example: withExample ? { url: urls.example, database: exampleDatabase(stateDir) } : null,
    gateway: { url: urls.gateway, ...(await ensureAgentToken(stateDir, people.agent)) },
    console: { url: urls.console, ...console },
  };
  await writeDevFile(stateDir, dev);
  stops.unshift(() => removeDevFile(stateDir));
  const running = { dev, ports };
  const onStarted = (part: Child) => stops.push(() => part.stop(PART_GRACE_MS));
  return {
    get dev() {
      return running.dev;
    },
    temporal,
    example,
    policy,
    reviewer,
    stop,
    start: (name) => startOnPort(options, { part: PARTS[name], running, onStarted }),
  };
}

interface Running {
  dev: DevFile;
  ports: Ports;
}

interface StartingPart {
  readonly part: Part;
  readonly running: Running;
  readonly onStarted: (part: Child) => void;
}

/** Starts a part, on another port where something else took the one that was free when it was chosen. */
async function startOnPort(
  { stateDir, onProgress }: StackOptions,
  { part, running, onStarted }: StartingPart,
): Promise<Child> {
  const { name, port } = part;
  for (let attempt = 1; attempt <= PART_ATTEMPTS; attempt += 1) {
    const started = await startPart(part, { stateDir, dev: running.dev }, onStarted);
    if (started !== 'portTaken') return started;
    const taken = running.ports[port];
    // Before the others are read: another part may move meanwhile.
    const free = await freePort();
    running.ports = { ...running.ports, [port]: free };
    running.dev = moved(running.dev, urlsOf(running.ports));
    onProgress(`something else uses port ${taken}, so the ${name} takes ${free}`);
    await keepPorts(stateDir, running.ports);
    await writeDevFile(stateDir, running.dev);
  }
  throw new CliFailure('unreachable', `The ${name} did not start: each of ${PART_ATTEMPTS} ports was taken.`);
}

function moved(dev: DevFile, urls: ReturnType<typeof urlsOf>): DevFile {
  const { gateway, console } = dev;
  return {
    ...dev,
    healthUrl: urls.health,
    ...(gateway !== undefined && { gateway: { ...gateway, url: urls.gateway } }),
    ...(console !== undefined && { console: { ...console, url: urls.console } }),
  };
}

/** Who asks where there is no example: not the reviewer, since nobody may allow what is theirs. */
const DEVELOPER = { subject: 'user:developer', agent: 'cli' } as const;

const EXAMPLE_PEOPLE = { agent: EXAMPLE_AGENT, reviewer: EXAMPLE_REVIEWER } as const;

function urlsOf({ health, example, gateway, console }: Ports) {
  return {
    health: `http://127.0.0.1:${health}`,
    example: `http://127.0.0.1:${example}/mcp`,
    gateway: `http://127.0.0.1:${gateway}`,
    console: `http://127.0.0.1:${console}`,
  };
}

async function startTemporal({ stateDir, onProgress }: StackOptions, ports: Ports): Promise<TemporalServer> {
  const binary = await findTemporalBinary({ stateDir: await binaryDir(stateDir), env: process.env, onProgress });
  if (!binary.ok) throw new CliFailure('unreachable', `${binary.detail} [${binary.code}]`);
  onProgress('starting Temporal');
  const started = await startTemporalServer({
    binary: binary.path,
    namespace: NAMESPACE,
    port: ports.temporal,
    uiPort: ports.ui,
    dbFilename: join(stateDir, 'temporal.db'),
    log: logFile(join(stateDir, 'temporal.log')),
  });
  if (started.ok) return started.server;
  throw new CliFailure('unreachable', `${started.detail} [${started.code}]`);
}

/** Unless somebody's own policy is active; one that still names the example's server is served as well. */
async function wantsExample(ledgerUrl: string, exampleUrl: string): Promise<boolean> {
  return withLedgerAt(ledgerUrl, async (ledger) => {
    const active = await ledger.activePolicy();
    return active === null || (await activeKind(ledger)) === 'example' || namesExample(active.policy, exampleUrl);
  });
}

/** Applies the example's policy where one is given, then tells whose is active. */
async function policyOf(ledgerUrl: string, examplePolicyText: string | null): Promise<Stack['policy']> {
  return withLedgerAt(ledgerUrl, async (ledger) => {
    if (examplePolicyText !== null) await applyExamplePolicy(ledger, examplePolicyText);
    return activeKind(ledger);
  });
}

async function withLedgerAt<T>(ledgerUrl: string, work: (ledger: Ledger) => Promise<T>): Promise<T> {
  const store = await openStore(ledgerUrl, pino({ level: 'silent' }));
  try {
    return await work(createLedger(store, { defaultTrust: 'namespace' }));
  } finally {
    await store.close();
  }
}
