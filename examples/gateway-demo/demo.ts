import { processIo } from '../../cli/io';
import { paintFor } from '../../cli/paint';
import { stopSignal } from '../../cli/stop-signal';
import { tellGatewayStory } from './gateway-story';
import { inGatewayWorld } from './gateway-world';

/** `npm run demo:gateway`: a client of MCP, the gateway and the filesystem server, all of them real; exit code 0 when everything happened as the story says. */
async function main(): Promise<void> {
  const { stdout } = processIo();
  const say = (text: string): void => {
    stdout.write(`${text}\n`);
  };
  const startedAtMs = Date.now();
  const end = await inGatewayWorld(
    (world) => tellGatewayStory(world, { paint: paintFor(stdout), say }),
    Promise.race([stopSignal(), readerGone(), hungUp()]),
  );
  if (end === 'stop') {
    process.stderr.write('Stopped: every process has ended and the temporary folder is gone.\n');
    process.exit(130);
  }
  say(
    `\nDone in ${Math.round((Date.now() - startedAtMs) / 1_000)} s; every process has ended and the temporary folder is gone.`,
  );
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

main().catch((error: unknown) => {
  process.stderr.write(`The demo failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
