import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import { readSealKey } from '../../console/sign-in/key-file';
import { createMint, newSealKey, type Mint } from '../../console/sign-in/mint';
import { personOf } from '../../core/policy-lookup';
import { describeCommand, withState, type Cli } from '../command';
import { errorCode } from '../error-code';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import type { Io } from '../io';
import { findPlace, withLedger, type Place, type PlaceOptions } from '../place';
import { safe } from '../text';
import { runConsole } from './console-run';

const LINK_MINUTES = 10;
const TOKEN_HOURS = 12;
const MINUTE_MS = 60_000;

interface LinkOptions extends PlaceOptions {
  readonly to?: string;
}

interface TokenOptions extends PlaceOptions {
  readonly hours: number;
}

export function addConsole(program: Command, { io, end }: Cli): void {
  const console = program
    .command('console')
    .description('The reviewers\' console: run it (that is "console" alone), let people in');
  describeCommand(console.command('run', { isDefault: true }), {
    summary:
      'Run the console: pages for people and an HTTP API, told by its environment alone (docs/console.md lists it). "holdpoint console" is short for it. SIGTERM ends it in order.',
    examples: [
      'HOLDPOINT_LEDGER_URL=postgres://… TEMPORAL_ADDRESS=temporal:7233 HOLDPOINT_CONSOLE_KEY_FILE=console.key HOLDPOINT_CONSOLE_SIGNING_KEY_FILE=console.pem holdpoint console run',
    ],
    exits: ['unreachable'],
  }).action(() => end(runConsole(io)));
  describeCommand(console.command('key'), {
    summary: 'Write the key that seals sessions, links and API tokens: whoever has it can sign in as anybody.',
    examples: ['holdpoint console key console.key'],
  })
    .argument('<file>', 'the new file; an existing one is not replaced')
    .action((file: string) => end(newKey(io, file)));
  describeCommand(withState(console.command('link')), {
    summary: `Make a link by which one person signs in, once, within ${LINK_MINUTES} minutes.`,
    examples: ['holdpoint console link', 'holdpoint console link dana --to /requests/7KQ2M4XB'],
    exits: ['notFound', 'unreachable'],
  })
    .argument('[person]', 'a name in "people" of the policy (default: the reviewer of "holdpoint dev")')
    .option('--to <path>', 'the page to begin with', pathOf)
    .action((person: string | undefined, options: LinkOptions) => end(link(io, person, options)));
  describeCommand(withState(console.command('token')), {
    summary: 'Make a bearer token for the HTTP API in the name of one person. It goes to stdout and is kept nowhere.',
    examples: ['export HOLDPOINT_TOKEN=$(holdpoint console token dana --hours 1)'],
    exits: ['notFound', 'unreachable'],
  })
    .argument('<person>', 'a name in "people" of the policy')
    .option('--hours <n>', 'how long it holds', hoursOf, TOKEN_HOURS)
    .action((person: string, options: TokenOptions) => end(token(io, person, options)));
}

function pathOf(text: string): string {
  if (/^\/(?![/\\])/.test(text)) return text;
  throw new InvalidArgumentError('It is a path of the console, such as /requests/7KQ2M4XB.');
}

function hoursOf(text: string): number {
  const hours = Number(text);
  if (Number.isInteger(hours) && hours >= 1 && hours <= 8_760) return hours;
  throw new InvalidArgumentError('It is a whole number of hours, 1 to 8760.');
}

async function newKey(io: Io, file: string): Promise<ExitName> {
  await writeFile(resolve(io.cwd, file), `${newSealKey()}\n`, { mode: 0o600, flag: 'wx' }).catch((error: unknown) => {
    const exists = errorCode(error) === 'EEXIST';
    throw new CliFailure(
      'refused',
      `${safe(file)} ${exists ? 'exists already' : 'cannot be written'}. It was not changed.`,
      'Name another file: holdpoint console key FILE',
    );
  });
  io.stdout.write(`${safe(file)} is written. HOLDPOINT_CONSOLE_KEY_FILE names it.\n`);
  return 'ok';
}

async function link(io: Io, person: string | undefined, options: LinkOptions): Promise<ExitName> {
  const place = await findPlace(io, options);
  const { mint, url } = consoleOf(io, place);
  const who = person ?? (place.kind === 'dev' ? place.dev?.reviewer.name : undefined);
  if (who === undefined) throw new CliFailure('refused', 'Whose link is it? No link was made.', 'Name a person.');
  await assertListed(place, who);
  const code = await mint.mintLink(who, LINK_MINUTES * MINUTE_MS);
  const query = new URLSearchParams({ ...(options.to !== undefined && { to: options.to }), code });
  io.stdout.write(`${url}/sign-in/link?${query.toString()}\n`);
  io.stderr.write(`It signs ${safe(who)} in, once, within ${LINK_MINUTES} minutes. Give it to nobody else.\n`);
  return 'ok';
}

async function token(io: Io, person: string, { hours, ...options }: TokenOptions): Promise<ExitName> {
  const place = await findPlace(io, options);
  const { mint, url } = consoleOf(io, place);
  await assertListed(place, person);
  io.stdout.write(`${await mint.mintToken(person, hours * 60 * MINUTE_MS)}\n`);
  io.stderr.write(`It speaks for ${safe(person)} at ${url}/api/v1 for ${hours} hours.\n`);
  return 'ok';
}

/** The console of a place: its address, and what its key makes. */
function consoleOf({ env }: Io, place: Place): { readonly mint: Mint; readonly url: string } {
  const dev = place.kind === 'dev' ? place.dev?.console : undefined;
  const keyFile = dev?.keyFile ?? env['HOLDPOINT_CONSOLE_KEY_FILE'] ?? '';
  if (keyFile === '') {
    throw new CliFailure(
      'unreachable',
      'No console is known here. Nothing was made.',
      'Start "holdpoint dev", or set HOLDPOINT_CONSOLE_KEY_FILE and HOLDPOINT_CONSOLE_PUBLIC_URL as the console has them.',
    );
  }
  const read = readSealKey(keyFile);
  if (!read.ok) throw new CliFailure('refused', `The key ${safe(keyFile)}: ${read.detail}. Nothing was made.`);
  const url = dev?.url ?? env['HOLDPOINT_CONSOLE_PUBLIC_URL'] ?? '';
  return { mint: createMint(read.key), url: url === '' ? 'http://127.0.0.1:8485' : url };
}

async function assertListed(place: Place, person: string): Promise<void> {
  const active = await withLedger(place, (ledger) => ledger.activePolicy());
  if (active !== null && personOf(active.policy, person) !== null) return;
  throw new CliFailure(
    'notFound',
    `The active policy lists no ${safe(person)} in "people". Nothing was made.`,
    'See who is there with "holdpoint policy show".',
  );
}
