import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Child } from '../../worker/child-process';
import type { Active } from '../../ledger/ledger';
import { describeCommand, type Cli } from '../command';
import { commandName } from '../command-name';
import { isRunning, readDevFile, removeDevFile } from '../dev/dev-file';
import { devText, whoText } from '../dev/dev-text';
import { startStack, type Stack } from '../dev/stack';
import { lockStateFolder } from '../dev/state-lock';
import { makeStateFolder } from '../dev/state-folder';
import { endedText } from '../dev/worker-words';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import type { Io } from '../io';
import { paintFor } from '../paint';
import { findPlace, STATE_DIR, withLedger } from '../place';
import { stopSignal } from '../stop-signal';
import { safe, safeBlock } from '../text';

interface Options {
  readonly state?: string;
  readonly example?: boolean;
}

const POLICY_POLL_MS = 500;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

export function addDev(program: Command, { io, end }: Cli): void {
  describeCommand(program.command('dev'), {
    summary:
      'Run everything here: Temporal with its UI, a worker and, unless a policy of your own is active, an example tool server.',
    examples: ['holdpoint dev', 'holdpoint dev --no-example --state ~/holdpoint'],
    exits: ['unreachable'],
  })
    .option('--state <dir>', `where everything is kept (default: ${STATE_DIR} here)`)
    .option('--example', 'run the example tool server, whatever policy is active')
    .option('--no-example', 'do not run it')
    .action((options: Options) => end(dev(io, options)));
}

async function dev(io: Io, options: Options): Promise<ExitName> {
  const stateDir = resolve(io.cwd, options.state ?? STATE_DIR);
  await makeStateFolder(stateDir);
  const lock = await lockStateFolder(stateDir);
  if (lock === null) throw await alreadyRunning(stateDir);
  try {
    return await run(io, stateDir, options.example ?? null);
  } finally {
    lock.release();
  }
}

async function alreadyRunning(stateDir: string): Promise<CliFailure> {
  const other = await readDevFile(stateDir);
  const who =
    other === null || !isRunning(other)
      ? 'it is just starting'
      : `process ${other.pid}, Temporal UI ${other.temporal.uiUrl}`;
  return new CliFailure(
    'refused',
    `"holdpoint dev" runs in ${safe(stateDir)} already: ${safe(who)}. Nothing was started.`,
    'Use that one, stop it, or choose another folder with --state DIR.',
  );
}

async function run(io: Io, stateDir: string, example: boolean | null): Promise<ExitName> {
  const stopping = stopSignal();
  const onProgress = (step: string): void => {
    io.stderr.write(`… ${step}\n`);
  };
  const started = await Promise.race([startStack({ stateDir, example, ports: 'usual', onProgress }), stopping]);
  if (started === 'stop') {
    await removeDevFile(stateDir);
    // What has been started so far cannot outlive this process.
    process.exit(130);
  }
  try {
    return await supervise(io, { stack: started, stateDir, stopping });
  } finally {
    io.stderr.write('… stopping\n');
    await started.stop();
  }
}

interface Running {
  readonly stack: Stack;
  readonly stateDir: string;
  readonly stopping: Promise<'stop'>;
}

/** Keeps the stack whole until it cannot: a worker that ends is started again, without Temporal there is nothing to do. */
async function supervise(io: Io, { stack, stateDir, stopping }: Running): Promise<ExitName> {
  const { temporal, example } = stack;
  const over = Promise.race([
    stopping,
    temporal.exited.then(() => 'The Temporal server has ended: see temporal.log'),
    ...(example === null ? [] : [example.exited.then(() => 'The example server has ended: see example.log')]),
  ]);
  const shown = async () => ({
    ...{ dev: stack.dev, reviewer: stack.reviewer, active: await activeAt(io, stateDir) },
    ...{ stateDir, cwd: io.cwd, paint: paintFor(io.stdout), command: commandName(io.env) },
  });
  if (stack.policy === 'none') io.stdout.write(`${devText(await shown())}\n`);
  const mayWork = stack.policy !== 'none' || (await waitForPolicy(io, { stateDir, over }));
  const onReady = async (): Promise<void> => {
    const now = await shown();
    const { active } = now;
    const who = active === null ? '' : `\n${whoText({ ...now, active })}`;
    io.stdout.write(`${stack.policy === 'none' ? `The worker is up.${who}` : devText(now)}\n`);
  };
  if (mayWork) await keepWorker(io, stack, { over, onReady });
  const why = await over;
  if (why === 'stop') return 'ok';
  throw new CliFailure(
    'unreachable',
    `${why} in ${safe(stateDir)}.`,
    'Start "holdpoint dev" again; nothing that was recorded is lost.',
  );
}

/** Settles when the stack ends: by the user's wish (`stop`), or for the reason that it gives. */
type Over = Promise<string>;

/** True: it is over before `work` was done. */
async function isOverBefore(over: Over, work: Promise<unknown>): Promise<boolean> {
  return Promise.race([over.then(() => true), work.then(() => false)]);
}

/** False: it was over before there was one. */
async function waitForPolicy(io: Io, { stateDir, over }: { stateDir: string; over: Over }): Promise<boolean> {
  const command = commandName(io.env);
  io.stderr.write(
    `\nNo policy is active, so no worker runs. In another terminal: ${command} init, then ${command} policy apply policy.yaml\n`,
  );
  while ((await activeAt(io, stateDir)) === null) {
    if (await isOverBefore(over, pause(POLICY_POLL_MS))) return false;
  }
  return true;
}

async function activeAt({ cwd }: Io, stateDir: string): Promise<Active | null> {
  const place = await findPlace({ env: {}, cwd }, { state: stateDir });
  return withLedger(place, (ledger) => ledger.activePolicy());
}

interface Keeping {
  readonly over: Over;
  /** Called once, when the first worker is up. */
  readonly onReady: () => Promise<void>;
}

async function keepWorker(io: Io, stack: Stack, { over, onReady }: Keeping): Promise<void> {
  let announced = false;
  let lastSaid = '';
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    if (!announced && lastSaid === '') io.stderr.write('… starting the worker\n');
    const starting = stack.startWorker().catch((error: unknown) => error);
    if (await isOverBefore(over, starting)) return;
    const worker = await starting;
    if (isChild(worker)) {
      pauseMs = FIRST_PAUSE_MS;
      if (!announced) await onReady();
      announced = true;
      if (await isOverBefore(over, worker.exited)) return;
      io.stderr.write(`${safeBlock(endedText(await worker.exited, worker.recentOutput()))}\n`);
    } else {
      const message = worker instanceof Error ? worker.message : String(worker);
      if (message !== lastSaid) io.stderr.write(`${safeBlock(message)}\n… it is tried again until it starts\n`);
      lastSaid = message;
    }
    if (await isOverBefore(over, pause(pauseMs))) return;
  }
}

/** Keeps no process alive that has nothing else to do. */
function pause(ms: number): Promise<void> {
  return delay(ms, undefined, { ref: false });
}

function isChild(value: unknown): value is Child {
  return typeof value === 'object' && value !== null && 'exited' in value;
}
