import pino from 'pino';
import { readConsoleSettings, type ConsoleSettings } from '../../console/settings';
import { startConsole } from '../../console/start-console';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import type { Io } from '../io';
import { findPlace, withLedger } from '../place';
import { connectTo } from '../temporal';
import { untilEnd } from '../until-end';
import { withTracing } from '../with-tracing';

/** Runs a console until a signal or its own end; its log goes to stdout as JSON lines. */
export async function runConsole(io: Io): Promise<ExitName> {
  const settings = settingsOf(io.env);
  const log = pino({ level: io.env['HOLDPOINT_LOG_LEVEL'] ?? 'info' });
  const place = await findPlace(io, {});
  return withTracing('console', { env: io.env, log }, () =>
    withLedger<ExitName>(place, async (ledger) => {
      const started = await startConsole({ settings, ledger, log, connect: () => connectTo(io, place) });
      if (!started.ok)
        throw new CliFailure('unreachable', `The console cannot start: ${started.detail} [${started.code}]`);
      log.info({ url: started.console.url, signs: settings.signingKey !== null }, 'console.listening');
      return untilEnd('console', started.console, log);
    }),
  );
}

function settingsOf(env: NodeJS.ProcessEnv): ConsoleSettings {
  const read = readConsoleSettings(env);
  if (read.ok) return read.settings;
  throw new CliFailure(
    'refused',
    `The console cannot start:\n${read.problems.map((problem) => `  ${problem}`).join('\n')}`,
    'Correct its environment; docs/console.md lists it. "holdpoint console key FILE" makes its key.',
  );
}
