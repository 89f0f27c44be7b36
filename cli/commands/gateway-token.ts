import { resolve } from 'node:path';
import type { Command } from 'commander';
import { newToken, revokeToken } from '../../gateway/edge/new-token';
import { readTokenFile, type TokenRecord } from '../../gateway/edge/token-file';
import { describeCommand, withJson, type Cli } from '../command';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import type { Io } from '../io';
import { jsonBlock, jsonLine, safe, table, when } from '../text';

interface Options {
  readonly json?: boolean;
}

interface NewOptions extends Options {
  readonly subject: string;
  readonly agent: string;
  readonly chain?: readonly string[];
}

const FILE_HELP = 'the file of local tokens that HOLDPOINT_GATEWAY_TOKENS names';

export function addGatewayToken(gateway: Command, { io, end }: Cli): void {
  const token = gateway.command('token').description('Local tokens: one for each person and agent');
  describeCommand(withJson(token.command('new')), {
    summary:
      'Make a token for one person through one agent, and add its hash to a file. The token goes to stdout, once; it is kept nowhere.',
    examples: [
      'holdpoint gateway token new tokens.json --subject user:amira --agent claude-code',
      'export HOLDPOINT_GATEWAY_TOKEN=$(holdpoint gateway token new tokens.json --subject user:amira --agent cursor)',
    ],
  })
    .argument('<file>', `${FILE_HELP}; made where there is none`)
    .requiredOption('--subject <subject>', 'whose calls these are, such as user:amira')
    .requiredOption('--agent <agent>', 'through which program, such as claude-code')
    .option('--chain <names...>', 'who stands between the two, in order, where there is anybody')
    .action((file: string, options: NewOptions) => end(make(io, file, options)));
  describeCommand(withJson(token.command('list')), {
    summary: 'List the tokens of a file: their ids, and whom each stands for. The tokens themselves are kept nowhere.',
    examples: ['holdpoint gateway token list tokens.json'],
    exits: ['notFound'],
  })
    .argument('<file>', FILE_HELP)
    .action((file: string, options: Options) => end(list(io, file, options)));
  describeCommand(withJson(token.command('revoke')), {
    summary: 'Take a token out of a file: the next request with it is refused.',
    examples: ['holdpoint gateway token revoke tokens.json tok_1f0c9a3b5d7e'],
    exits: ['notFound'],
  })
    .argument('<file>', FILE_HELP)
    .argument('<id>', 'the id of the token, as "token list" shows it')
    .action((file: string, id: string, options: Options) => end(revoke(io, { file, id }, options)));
}

function make(io: Io, file: string, { subject, agent, chain, json = false }: NewOptions): Promise<ExitName> {
  const made = newToken(resolve(io.cwd, file), { subject, agent, ...(chain !== undefined && { chain }) });
  if (!made.ok) throw new CliFailure('refused', `${sentence(made.detail)} No token was made.`);
  const { id, token } = made;
  io.stdout.write(json ? `${jsonLine({ id, token, subject, agent, chain: chain ?? [], file })}\n` : `${token}\n`);
  if (!json)
    io.stderr.write(
      `${id} is for ${safe(subject)} through ${safe(agent)}. ${safe(file)} holds its hash alone: the token cannot be shown again. A gateway whose HOLDPOINT_GATEWAY_TOKENS is this file knows it from now on.\n`,
    );
  return Promise.resolve('ok');
}

function list(io: Io, file: string, { json = false }: Options): Promise<ExitName> {
  const tokens = tokensOf(io, file);
  const rows = tokens.map(({ id, subject, agent, chain = [], createdAtMs }) => [
    id,
    safe(subject),
    safe(agent),
    chain.map(safe).join(' > ') || '-',
    when(createdAtMs),
  ]);
  if (json) io.stdout.write(`${jsonBlock(tokens.map(publicPart))}\n`);
  else if (rows.length === 0) io.stdout.write(`${safe(file)} holds no token.\n`);
  else io.stdout.write(`${table(['id', 'subject', 'agent', 'chain', 'made'], rows)}\n`);
  return Promise.resolve('ok');
}

/** The hash is no secret of a random token, and no use to anybody either. */
function publicPart({ id, subject, agent, chain = [], createdAtMs }: TokenRecord) {
  return { id, subject, agent, chain, createdAtMs };
}

function revoke(
  io: Io,
  { file, id }: { readonly file: string; readonly id: string },
  { json = false }: Options,
): Promise<ExitName> {
  const known = tokensOf(io, file).find((token) => token.id === id);
  if (known === undefined)
    throw new CliFailure(
      'notFound',
      `${safe(file)} holds no token ${safe(id)}. Nothing was changed.`,
      `List them with "holdpoint gateway token list ${safe(file)}".`,
    );
  const revoked = revokeToken(resolve(io.cwd, file), id);
  if (!revoked.ok) throw new CliFailure('refused', `${sentence(revoked.detail)} The token still counts.`);
  if (json) io.stdout.write(`${jsonLine({ id, subject: known.subject, agent: known.agent })}\n`);
  else
    io.stdout.write(
      `${safe(id)} is revoked: the next request with the token of ${safe(known.subject)} through ${safe(known.agent)} is refused.\n`,
    );
  return Promise.resolve('ok');
}

function tokensOf(io: Io, file: string): readonly TokenRecord[] {
  const read = readTokenFile(resolve(io.cwd, file));
  if (read.ok) return read.tokens;
  throw new CliFailure('notFound', `${safe(file)}: ${safe(read.detail)}. Nothing was changed.`);
}

function sentence(detail: string): string {
  return `${safe(detail)}.`;
}
