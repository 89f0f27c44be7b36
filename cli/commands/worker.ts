import type { Command } from 'commander';
import pino, { type Logger } from 'pino';
import { startWorkerProcess } from '../../worker/run-worker-process';
import { installTemporalRuntime } from '../../worker/temporal-runtime';
import { readWorkerSettings, type WorkerSettings } from '../../worker/worker-settings';
import { TASK_QUEUE } from '../../workflows/messages';
import { describeCommand, type Cli } from '../command';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import type { Io } from '../io';
import { untilEnd } from '../until-end';
import { withTracing } from '../with-tracing';

export function addWorker(program: Command, { io, end }: Cli): void {
  describeCommand(program.command('worker'), {
    summary: 'Run one worker process, told by its environment alone (docs/cli.md lists it). SIGTERM ends it in order.',
    examples: [
      'HOLDPOINT_LEDGER_URL=postgres://… HOLDPOINT_PERMIT_KEY_FILE=permit.pem TEMPORAL_ADDRESS=temporal:7233 holdpoint worker',
    ],
    exits: ['unreachable'],
  }).action(() => end(worker(io)));
}

async function worker({ env }: Io): Promise<ExitName> {
  const read = await readWorkerSettings(env, TASK_QUEUE);
  if (!read.ok) {
    throw new CliFailure(
      'refused',
      `The worker cannot start:\n${read.problems.map((problem) => `  ${problem}`).join('\n')}`,
      'Correct its environment; docs/cli.md lists it.',
    );
  }
  const log = pino({ level: env['HOLDPOINT_LOG_LEVEL'] ?? 'info' });
  return withTracing('worker', { env, log }, async () => {
    const runtime = installTemporalRuntime(log);
    try {
      return await runWorker(read.settings, { env, log });
    } finally {
      await runtime.end();
    }
  });
}

async function runWorker(
  settings: WorkerSettings,
  { env, log }: { env: NodeJS.ProcessEnv; log: Logger },
): Promise<ExitName> {
  const started = await startWorkerProcess({ settings, env, log });
  if (!started.ok) {
    const exit = started.code === 'NO_POLICY' || started.code === 'PERMIT_KEY' ? 'refused' : 'unreachable';
    throw new CliFailure(exit, `The worker cannot start: ${started.detail} [${started.code}]`);
  }
  const { healthUrl, policyVersion } = started.process;
  log.info({ healthUrl, policyVersion, namespace: settings.temporal.namespace }, 'worker.ready');
  return untilEnd('worker', started.process, log);
}
