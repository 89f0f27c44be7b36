import { processIo } from '../cli/io';
import { paintFor, type Paint } from '../cli/paint';
import { stopSignal } from '../cli/stop-signal';

/** How a story tells what happens. */
export interface Telling {
  readonly paint: Paint;
  readonly say: (text: string) => void;
}

type Play = (telling: Telling, stopping: Promise<'stop'>) => Promise<'done' | 'stop'>;

/**
 * Plays a demo in this process: exit code 0 when everything happened as its story says, 130 when it was stopped in order
 * (Ctrl-C, a terminal that is closed, a reader that is gone), 1 when it failed.
 */
export function runDemo(play: Play): void {
  tell(play).catch((error: unknown) => {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(`The demo failed: ${why}\n`);
    process.exitCode = 1;
  });
}

async function tell(play: Play): Promise<void> {
  const { stdout } = processIo();
  const say = (text: string): void => {
    stdout.write(`${text}\n`);
  };
  const startedAtMs = Date.now();
  const end = await play({ paint: paintFor(stdout), say }, Promise.race([stopSignal(), readerGone(), hungUp()]));
  if (end === 'stop') {
    process.stderr.write('Stopped: every process has ended and the temporary folder is gone.\n');
    process.exit(130);
  }
  const seconds = Math.round((Date.now() - startedAtMs) / 1_000);
  say(`\nDone in ${seconds} s; every process has ended and the temporary folder is gone.`);
}

/** Settles when nobody reads the output any more (`| head`). */
function readerGone(): Promise<'stop'> {
  return new Promise((resolve) => {
    process.stdout.on('error', () => {
      resolve('stop');
    });
  });
}

/** Settles when the terminal is closed; without this the process would end at once and leave its folder behind. */
function hungUp(): Promise<'stop'> {
  return new Promise((resolve) => {
    process.once('SIGHUP', () => {
      resolve('stop');
    });
  });
}
