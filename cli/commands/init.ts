import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { parsePolicyFile } from '../../core/policy-file';
import { describeCommand, type Cli } from '../command';
import { ensureConsole, ensureReviewer, localUserName, makeStateFolder } from '../dev/state-folder';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import type { Io } from '../io';
import { STATE_DIR } from '../place';
import { problemText } from '../policy-text';
import { starterPolicy, type StarterPolicy } from '../starter-policy';
import { safe } from '../text';
import { errorCode } from '../error-code';

interface Options {
  readonly server: string;
  readonly url: string;
  readonly command?: string;
  readonly reviewer?: string;
  readonly state?: string;
}

export function addInit(program: Command, { io, end }: Cli): void {
  describeCommand(program.command('init'), {
    summary: 'Write a policy to begin with, and a key for its reviewer.',
    examples: [
      'holdpoint init',
      'holdpoint init policy.yaml --server files --command "npx -y @modelcontextprotocol/server-filesystem /data"',
    ],
  })
    .argument('[file]', 'the new policy file; an existing one is not replaced', 'policy.yaml')
    .option('--server <name>', 'what you call the tool server', 'tools')
    .option('--url <url>', 'its address, where it speaks streamable HTTP', 'http://127.0.0.1:4100/mcp')
    .option('--command <command>', 'its command, where it speaks stdio')
    .option('--reviewer <name>', 'who decides (default: your user name)')
    .option('--state <dir>', `where the reviewer's private key goes (default: ${STATE_DIR})`)
    .action((file: string, options: Options) => end(init(io, file, options)));
}

async function init(io: Io, file: string, options: Options): Promise<ExitName> {
  const path = resolve(io.cwd, file);
  const stateDir = resolve(io.cwd, options.state ?? STATE_DIR);
  const name = options.reviewer ?? localUserName();
  // Judged with a key of no one, so that a name which cannot be used leaves nothing behind.
  const nobodys = {
    reviewer: { name, publicKey: `ed25519:${'A'.repeat(43)}` },
    consoleKey: `ed25519:${'E'.repeat(43)}`,
  };
  assertUsable(file, starterPolicy({ ...nobodys, ...reachOf(options) }));
  await makeStateFolder(stateDir);
  const reviewer = await ensureReviewer(stateDir, name);
  const { publicKey: consoleKey } = await ensureConsole(stateDir);
  const policy = starterPolicy({ ...reachOf(options), reviewer, consoleKey });
  await writeFile(path, policy, { flag: 'wx' }).catch((error: unknown) => {
    const exists = errorCode(error) === 'EEXIST';
    throw new CliFailure(
      'refused',
      `${safe(file)} ${exists ? 'exists already' : 'cannot be written'}. It was not changed.`,
      'Name another file: holdpoint init FILE',
    );
  });
  io.stdout.write(`${safe(file)} is written.\n`);
  io.stderr.write(
    `The private key of ${safe(name)} is in ${safe(reviewer.keyFile)}.\nRead the file, then: holdpoint policy apply ${safe(file)}\n`,
  );
  return 'ok';
}

function reachOf({ server, url, command }: Options): Pick<StarterPolicy, 'server' | 'transport'> {
  const [program = '', ...args] = (command ?? '').split(/\s+/).filter((part) => part !== '');
  return { server, transport: command === undefined ? { url } : { command: program, args } };
}

function assertUsable(file: string, text: string): void {
  const parsed = parsePolicyFile(text, file);
  if (parsed.ok) return;
  throw new CliFailure(
    'refused',
    `These options make no policy; nothing was written:\n${parsed.problems.map(problemText).join('\n')}`,
  );
}
