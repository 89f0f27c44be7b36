import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Active } from '../../ledger/ledger';
import { describeCommand, type Cli } from '../command';
import { commandName } from '../command-name';
import { isRunning, readDevFile, removeDevFile } from '../dev/dev-file';
import { devText, upText, type Shown } from '../dev/dev-text';
import { isOverBefore, keepUp, pause, type Over } from '../dev/keep-up';
import { startStack, type Stack } from '../dev/stack';
import { lockStateFolder } from '../dev/state-lock';
import { makeStateFolder } from '../dev/state-folder';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import type { Io } from '../io';
import { paintFor } from '../paint';
import { findPlace, STATE_DIR, withLedger } from '../place';
import { stopSignal } from '../stop-signal';
import { safe } from '../text';

interface Options {
  readonly state?: string;
  readonly example?: boolean;
}

const POLICY_POLL_MS = 500;

export function addDev(program: Command, { io, end }: Cli): void {
  describeCommand(program.command('dev'), {
    summary:
      "Run everything here: Temporal with its UI, a worker, the MCP gateway, the reviewers' console and, unless a policy of your own is active, an example tool server.",
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

/**
 * Keeps the stack whole until it cannot: a worker, a gateway or a console that ends is started again, without Temporal there is
 * nothing to do.
 */
async function supervise(io: Io, running: Running): Promise<ExitName> {
  const { stack, stateDir, stopping } = running;
  const { temporal, example } = stack;
  const leaving = new AbortController();
  const over = Promise.race([
    stopping,
    once(leaving.signal, 'abort').then(() => 'stop'),
    temporal.exited.then(() => 'The Temporal server has ended: see temporal.log'),
    ...(example === null ? [] : [example.exited.then(() => 'The example server has ended: see example.log')]),
  ]);
  try {
    if (stack.policy === 'none') io.stdout.write(`${devText(await shownNow(io, running))}\n`);
    if (stack.policy !== 'none' || (await waitForPolicy(io, { stateDir, over }))) await work(io, running, over);
  } finally {
    // Nothing is started again from here on.
    leaving.abort();
  }
  const why = await over;
  if (why === 'stop') return 'ok';
  throw new CliFailure(
    'unreachable',
    `${why} in ${safe(stateDir)}.`,
    'Start "holdpoint dev" again; nothing that was recorded is lost.',
  );
}

/** Runs worker, gateway and console until all is over, and says where everything is once they are up. */
async function work(io: Io, running: Running, over: Over): Promise<void> {
  const { stack } = running;
  io.stderr.write('… starting worker, gateway and console\n');
  const up = (['worker', 'gateway', 'console'] as const).map(
    (name) =>
      new Promise<void>((resolve) => {
        void keepUp(io, { name, start: () => stack.start(name), over, onUp: resolve });
      }),
  );
  if (await isOverBefore(over, Promise.all(up))) return;
  const now = await shownNow(io, running);
  io.stdout.write(`${stack.policy === 'none' ? upText(now) : devText(now)}\n`);
  await over;
}

async function shownNow(io: Io, { stack, stateDir }: Running): Promise<Shown> {
  return {
    ...{ dev: stack.dev, reviewer: stack.reviewer, active: await activeAt(io, stateDir) },
    ...{ stateDir, cwd: io.cwd, paint: paintFor(io.stdout), command: commandName(io.env) },
  };
}

/** False: it was over before there was one. */
async function waitForPolicy(io: Io, { stateDir, over }: { stateDir: string; over: Over }): Promise<boolean> {
  const command = commandName(io.env);
  io.stderr.write(
    `\nNo policy is active, so no worker, gateway or console runs. In another terminal: ${command} init, then ${command} policy apply policy.yaml\n`,
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
