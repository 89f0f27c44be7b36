#!/usr/bin/env node

/** The first release that has all that is used here. Nothing may be imported before this is known to hold. */
const NEEDED = { major: 20, minor: 19 } as const;

function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < NEEDED.major || (major === NEEDED.major && minor < NEEDED.minor);
}

async function main(): Promise<void> {
  const version = process.versions.node;
  if (isTooOld(version)) {
    process.stderr.write(
      `holdpoint: Node ${NEEDED.major}.${NEEDED.minor} or later is needed, this is ${version}. Nothing was started.\nInstall a current Node (https://nodejs.org), then run the same command again.\n`,
    );
    process.exitCode = 1;
    return;
  }
  const { runCli } = await import('./program.js');
  const { processIo } = await import('./io.js');
  process.exitCode = await runCli(process.argv.slice(2), processIo());
}

// A reader that has seen enough (`| head`) is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
}

void main();
