import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { generateReviewerKey } from '../../client';
import { describeCommand, withJson, type Cli } from '../command';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import type { Io } from '../io';
import { jsonLine, safe } from '../text';
import { errorCode } from '../error-code';

interface Options {
  readonly json?: boolean;
}

export function addKey(program: Command, { io, end }: Cli): void {
  const key = program.command('key').description('Make keys');
  describeCommand(withJson(key.command('new')), {
    summary:
      "Make an Ed25519 key: a reviewer's own, or the one with which a worker signs permits and audit checkpoints.",
    examples: ['holdpoint key new dana.pem', 'holdpoint key new > permit.pem'],
  })
    .argument('[file]', 'where the private half goes, readable by you alone (default: stdout)')
    .action((file: string | undefined, options: Options) => end(newKey(io, file, options)));
}

async function newKey(io: Io, file: string | undefined, { json = false }: Options): Promise<ExitName> {
  const { privateKey, publicKey } = generateReviewerKey();
  if (file === undefined) {
    io.stdout.write(json ? `${jsonLine({ publicKey, privateKey })}\n` : privateKey);
    if (!json) io.stderr.write(`public half, for "people" in the policy: ${publicKey}\n`);
    return 'ok';
  }
  await writeKey(resolve(io.cwd, file), privateKey);
  io.stdout.write(json ? `${jsonLine({ publicKey, file })}\n` : `${publicKey}\n`);
  if (!json)
    io.stderr.write(
      `The private half is in ${safe(file)}. A reviewer's public half goes into the policy: people: { NAME: { key: ${publicKey} } }\n`,
    );
  return 'ok';
}

/** Never over an existing file: what it signed could not be checked any more. */
async function writeKey(path: string, privateKey: string): Promise<void> {
  await writeFile(path, privateKey, { mode: 0o600, flag: 'wx' }).catch((error: unknown) => {
    const exists = errorCode(error) === 'EEXIST';
    const why = exists ? 'exists already, and a key is never replaced' : 'cannot be written';
    throw new CliFailure('refused', `${safe(path)} ${why}. No key was made.`, 'Choose another file.');
  });
}
