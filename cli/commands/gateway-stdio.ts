import type { Command } from 'commander';
import pino from 'pino';
import { runStdioBridge } from '../../gateway/stdio/bridge';
import { describeCommand, type Cli } from '../command';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import type { Io } from '../io';
import { safe } from '../text';

interface Options {
  readonly url: string;
}

const TOKEN = 'HOLDPOINT_GATEWAY_TOKEN';
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

export function addGatewayStdio(gateway: Command, { io, end }: Cli): void {
  describeCommand(gateway.command('stdio'), {
    summary: `For MCP clients that start a command: connect stdin and stdout to a server behind the gateway, or to all of them. The token is in ${TOKEN}.`,
    examples: [
      'HOLDPOINT_GATEWAY_TOKEN=hp_… holdpoint gateway stdio orders-db',
      'holdpoint gateway stdio orders-db --url https://gateway.example',
    ],
  })
    .argument('[server]', 'the name of the server in the policy; all of them where it is left out')
    .option('--url <url>', 'where the gateway is', 'http://127.0.0.1:8484')
    .action((server: string | undefined, { url }: Options) => end(stdio(io, server, url)));
}

async function stdio({ env, stdin, stderr }: Io, server: string | undefined, at: string): Promise<ExitName> {
  const url = endpointOf(server, at);
  const token = tokenOf(env);
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname))
    stderr.write(`warning: ${safe(url.origin)} is plain http on a network: whoever is on the way reads the token.\n`);
  // MCP alone is on stdout, so the log is on stderr, which clients show or keep.
  const log = pino({ level: env['HOLDPOINT_LOG_LEVEL'] ?? 'warn' }, pino.destination({ dest: 2, sync: true }));
  await runStdioBridge({ url, token, input: stdin, output: process.stdout, log });
  return 'ok';
}

/** `--url` is the origin of the gateway; the whole address of what is named is the same thing. */
function endpointOf(server: string | undefined, at: string): URL {
  if (server !== undefined && !/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(server))
    throw new CliFailure('refused', `${safe(server)} is no name of a server. Nothing was connected.`, NAMES);
  const url = URL.canParse(at) ? new URL(at) : null;
  const path = server === undefined ? '/mcp' : `/mcp/${server}`;
  const fits =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    `${url.username}${url.password}${url.search}${url.hash}` === '' &&
    ['/', path].includes(url.pathname);
  if (fits) return new URL(path, url);
  throw new CliFailure(
    'refused',
    // What stands before an @ may be a password.
    `--url is the origin of the gateway, such as http://127.0.0.1:8484, not ${at.includes('@') ? 'one with a name or password in it' : safe(at)}. Nothing was connected.`,
  );
}

const NAMES = 'Take the name that the policy has under "servers": holdpoint policy show';

function tokenOf(env: NodeJS.ProcessEnv): string {
  const token = env[TOKEN] ?? '';
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new CliFailure(
    'refused',
    token === ''
      ? `${TOKEN} is not set, and the gateway serves nobody whom it does not know. Nothing was connected.`
      : `${TOKEN} holds what no token holds: spaces, or characters outside ASCII. Nothing was connected.`,
    'Put the token into the environment of this command; "holdpoint gateway token new FILE" makes one.',
  );
}
