import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import pino from 'pino';
import { generatePermitKey, savePermitKey } from '../activities/permit-key';
import type { Client } from '@temporalio/client';
import { connect } from '../client';
import { parsePolicyFile } from '../core/policy-file';
import { createLedger } from '../ledger/ledger';
import { openStore } from '../ledger/open-store';
import type { Child } from '../worker/child-process';
import { findTemporalBinary } from '../worker/temporal-binary';
import { startTemporalServer } from '../worker/temporal-server';
import { bareSubject, type BareForm } from './bare-subject';
import { holdpointSubject } from './holdpoint-subject';
import { undoLater } from './clean-up';
import { benchPolicy } from './policy';
import { startProcess, whenReady } from './processes';
import type { Subject } from './subject';

const ROOT = join(__dirname, '../..');
const BINARY_DIR = join(ROOT, 'node_modules/.cache/holdpoint');

/** Temporal as `holdpoint dev` runs it, and the processes that share it: nothing is in this process but the clients. */
export interface Stack {
  readonly client: Client;
  readonly holdpoint: Subject;
  readonly bare: (form: BareForm) => Subject;
  readonly bareWorker: Child;
  readonly holdpointWorker: () => Child;
  /** SIGKILL. */
  killHoldpointWorker(): Promise<void>;
  /** Starts a worker in place of the killed one; `whenReady` tells when it polls. */
  startHoldpointWorker(): Promise<Child>;
  /** Where its parts are, for further processes. */
  readonly places: StackPlaces;
  /** Throws unless the tool server counted as many effects as turns said that they executed, no more and no less. */
  checkEffects(): Promise<void>;
  close(): Promise<void>;
}

export interface StackPlaces {
  /** Of Temporal. */
  readonly address: string;
  readonly ledgerUrl: string;
  readonly keyFile: string;
  readonly toolUrl: string;
  readonly folder: string;
}

export async function startStack(): Promise<Stack> {
  const opened: (() => Promise<unknown>)[] = [];
  const close = undoLater(async () => {
    for (const end of opened.splice(0).reverse()) await end();
  });
  try {
    return { ...(await open(opened)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function open(opened: (() => Promise<unknown>)[]): Promise<Omit<Stack, 'close'>> {
  const folder = await scratchFolder();
  opened.push(() => rm(folder, { recursive: true, force: true }));
  const address = await startTemporal(folder, opened);
  const killed = new Set<Child>();
  const started = async (...[name, args]: Parameters<typeof startProcess>): Promise<Child> => {
    const child = await startProcess(name, args);
    opened.push(() => child.stop());
    void child.exited.then(() => {
      // Whatever waits for it would wait for ever.
      if (opened.length > 0 && !killed.has(child)) giveUp(`${name} ended:\n${child.recentOutput()}`);
    });
    return child;
  };
  const tools = await started('tool-server', []);
  const toolUrl = await whenReady('tool-server', tools);
  const ledgerUrl = pathToFileURL(join(folder, 'ledger.db')).href;
  const keyFile = join(folder, 'permit-key.pem');
  await savePermitKey(keyFile, await generatePermitKey());
  await applyPolicy(ledgerUrl, `${toolUrl}/mcp`);
  const bareWorker = await started('bare-worker', [address, await bareBundle(folder)]);
  const startHoldpointWorker = () => started('holdpoint-worker', [address, ledgerUrl, keyFile]);
  let holdpointWorker = await startHoldpointWorker();
  await Promise.all([whenReady('bare-worker', bareWorker), whenReady('holdpoint-worker', holdpointWorker)]);
  const holdpoint = await connect({ address, namespace: 'default' });
  opened.push(() => holdpoint.close());
  const { client } = holdpoint;
  const subject = holdpointSubject(holdpoint);
  return {
    client,
    holdpoint: subject,
    bare: (form) => bareSubject(client, form),
    bareWorker,
    places: { address, ledgerUrl, keyFile, toolUrl, folder },
    holdpointWorker: () => holdpointWorker,
    killHoldpointWorker: async () => {
      killed.add(holdpointWorker);
      await holdpointWorker.kill9();
    },
    startHoldpointWorker: async () => (holdpointWorker = await startHoldpointWorker()),
    checkEffects: async () => {
      const found = Number(await (await fetch(`${toolUrl}/effects`)).text());
      const said = subject.executed();
      if (found !== said) throw new Error(`the tool server counted ${found} effects, the results say ${said}`);
    },
  };
}

function giveUp(reason: string): void {
  console.error(reason);
  process.kill(process.pid, 'SIGTERM');
}

/** In the checkout, not in the folder for temporary files: that one may be memory, which forgets what `fsync` costs. */
export async function scratchFolder(): Promise<string> {
  const parent = join(ROOT, '.holdpoint');
  await mkdir(parent, { recursive: true });
  return mkdtemp(join(parent, 'bench-'));
}

async function startTemporal(folder: string, opened: (() => Promise<unknown>)[]): Promise<string> {
  const binary = await findTemporalBinary({ stateDir: BINARY_DIR, env: process.env, onProgress: console.error });
  if (!binary.ok) throw new Error(binary.detail);
  const started = await startTemporalServer({
    binary: binary.path,
    namespace: 'default',
    dbFilename: join(folder, 'temporal.db'),
    log: () => undefined,
  });
  if (!started.ok) throw new Error(started.detail);
  opened.push(() => started.server.stop());
  return started.server.address;
}

async function applyPolicy(ledgerUrl: string, toolUrl: string): Promise<void> {
  const text = benchPolicy(toolUrl);
  const parsed = parsePolicyFile(text, 'policy.yaml');
  if (!parsed.ok) throw new Error(parsed.problems.map((problem) => problem.message).join('\n'));
  const store = await openStore(ledgerUrl, pino({ level: 'silent' }));
  const ledger = createLedger(store, { defaultTrust: 'namespace' });
  await ledger.applyPolicy({ text, fileName: 'policy.yaml', policy: parsed.policy, by: 'bench' });
  await store.close();
}

async function bareBundle(folder: string): Promise<string> {
  const workflowsPath = require.resolve('./bare-workflows');
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('WARN') });
  const path = join(folder, 'bare-bundle.js');
  await writeFile(path, code);
  return path;
}
