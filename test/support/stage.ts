import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startChild, type Child } from '../../worker/child-process';
import { eventually } from './eventually';
import { startHarness, type Harness, type HarnessOptions } from './harness';
import type { WorkerTold } from './worker-child';

type WorkerChoice = Partial<Pick<WorkerTold, 'at' | 'worker' | 'address' | 'bundlePath' | 'ledgerUrl'>>;

/** A harness without a worker of its own: its workers are processes that may be killed. */
export interface Stage extends Harness {
  readonly ledgerUrl: string;
  /** Starts a worker process and waits until it polls. */
  workerProcess(choice?: WorkerChoice): Promise<Child>;
  /** Waits until the tool server has seen `count` effects of a tool. */
  ranAtTool(tool: string, count?: number): Promise<void>;
}

/** Ledger, tool server and client in this process; workers in processes of their own. */
export async function startStage(options: HarnessOptions = {}): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'holdpoint-stage-'));
  const ledgerUrl = options.ledgerUrl ?? pathToFileURL(join(folder, 'ledger.db')).href;
  const harness = await startHarness({ ...options, ledgerUrl, worker: false });
  const workers: Child[] = [];
  return {
    ...harness,
    ledgerUrl,
    workerProcess: async (choice = {}) => {
      const worker = await startScript('worker-child.ts', {
        address: options.address ?? process.env['HOLDPOINT_TEST_TEMPORAL'] ?? '',
        taskQueue: harness.taskQueue,
        ledgerUrl,
        bundlePath: process.env['HOLDPOINT_TEST_BUNDLE'] ?? '',
        secretsKey: Buffer.from(harness.deps.secretsKey).toString('hex'),
        ...choice,
      } satisfies WorkerTold);
      workers.push(worker);
      const ready = await worker.waitForLine(/^ready$/, 30_000);
      if (ready === undefined) throw new Error(`the worker process did not start:\n${worker.recentOutput()}`);
      return worker;
    },
    ranAtTool: (tool, count = 1) =>
      eventually(() => {
        const runs = harness.tools.runsOf(tool).length;
        if (runs < count) throw new Error(`${tool} ran ${runs} times, not ${count}`);
      }),
    close: async () => {
      await Promise.all(workers.map((worker) => worker.kill9()));
      await harness.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Runs a script of this folder in a process of its own; its argument is given as JSON. */
export async function startScript(file: string, argument: unknown): Promise<Child> {
  const started = await startChild({
    command: process.execPath,
    args: ['-r', join(__dirname, 'ts-hook.cjs'), join(__dirname, file), JSON.stringify(argument)],
  });
  if (!started.ok) throw new Error(started.detail);
  return started.child;
}
