import pino, { type Logger } from 'pino';
import { readEdgeSettings, type EdgeSettings } from '../../gateway/edge/settings';
import { startGateway } from '../../gateway/start-gateway';
import { readOriginUrl, SettingReader } from '../../web/setting-values';
import { installTemporalRuntime } from '../../worker/temporal-runtime';
import { readWorkerSettings, type WorkerSettings } from '../../worker/worker-settings';
import { TASK_QUEUE } from '../../workflows/messages';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import type { Io } from '../io';
import { untilEnd } from '../until-end';
import { withTracing } from '../with-tracing';

/** Runs a gateway until a signal or its own end; its log goes to stdout as JSON lines. */
export async function runGateway({ env }: Io): Promise<ExitName> {
  const settings = await readSettings(env);
  const log = pino({ level: env['HOLDPOINT_LOG_LEVEL'] ?? 'info' });
  return withTracing('gateway', { env, log }, async () => {
    const runtime = installTemporalRuntime(log);
    try {
      return await run({ ...settings, env, log });
    } finally {
      await runtime.end();
    }
  });
}

interface Settings {
  readonly settings: WorkerSettings;
  readonly edge: EdgeSettings;
  /** Where reviewers decide; null where nothing says so. */
  readonly consoleUrl: string | null;
}

/** Where something is wrong with either half, all of it is said at once. */
async function readSettings(env: NodeJS.ProcessEnv): Promise<Settings> {
  const [back, edge] = [await readWorkerSettings(env, TASK_QUEUE), readEdgeSettings(env)];
  const from = new SettingReader(env);
  const consoleUrl = from.read('HOLDPOINT_CONSOLE_URL', readOriginUrl);
  if (back.ok && edge.ok && from.problems.length === 0)
    return { settings: back.settings, edge: edge.settings, consoleUrl };
  const problems = [...[back, edge].flatMap((read) => (read.ok ? [] : read.problems)), ...from.problems];
  throw new CliFailure(
    'refused',
    `The gateway cannot start:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    'Correct its environment; docs/cli.md and docs/gateway-security.md list it. "holdpoint gateway token new FILE" makes a local token.',
  );
}

interface Running extends Settings {
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
}

async function run(running: Running): Promise<ExitName> {
  const { settings, edge, consoleUrl, log } = running;
  const reviewUrl = (operationId: string) => (consoleUrl === null ? null : `${consoleUrl}/requests/${operationId}`);
  const started = await startGateway({ ...running, reviewUrl });
  if (!started.ok) {
    const { code, detail } = started;
    const exit = code === 'NO_POLICY' || code === 'PERMIT_KEY' ? 'refused' : 'unreachable';
    const hint =
      code === 'NO_POLICY'
        ? 'Nothing is passed on without a policy. "holdpoint init" writes one to begin with; read it, then apply it: holdpoint policy apply policy.yaml'
        : null;
    throw new CliFailure(exit, `The gateway cannot start: ${detail} [${code}]`, hint);
  }
  const { gateway } = started;
  const { namespace } = settings.temporal;
  log.info({ url: gateway.url, host: edge.host, namespace }, 'gateway.listening');
  return untilEnd('gateway', gateway, log);
}
