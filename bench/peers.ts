import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startChild, type Child } from '../worker/child-process';
import { freePort } from '../worker/free-port';
import { benchClient, type BenchClient } from './gateway-client';

const run = promisify(execFile);
const FOLDER = join(__dirname, '../../.holdpoint/bench-peers');
const PACKAGES = ['@civic/passthrough-mcp-server@0.12.1', 'mcp-proxy@6.7.19', 'supergateway@4.0.0'];
const READY_MS = 30_000;

/** Another gateway for MCP, in front of the same server. */
export interface Peer {
  readonly name: string;
  start(): Promise<{ readonly client: BenchClient; readonly child: Child }>;
}

/** Installs the peers, which are no dependencies of this package. Throws where the registry cannot be reached. */
export async function installPeers(): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  await run('npm', ['install', '--prefix', FOLDER, '--no-audit', '--no-fund', '--no-save', ...PACKAGES]);
}

/** The peer that stands in front of servers on HTTP. */
export function httpPeer(url: string): Peer {
  return peer('@civic/passthrough-mcp-server', '@civic/passthrough-mcp-server/dist/cli.js', (port) => ({
    args: [],
    env: { PORT: String(port), TARGET_SERVER_URL: new URL(url).origin, TARGET_SERVER_TRANSPORT: 'httpStream' },
  }));
}

/** The peers that start a server on stdio. */
export function stdioPeers(file: string): readonly Peer[] {
  return [
    peer('supergateway', 'supergateway/dist/index.js', (port) => {
      const server = ['--stdio', `${process.execPath} ${file}`, '--stateful', '--logLevel', 'none'];
      return { args: [...server, '--outputTransport', 'streamableHttp', '--port', String(port)], env: {} };
    }),
    peer('mcp-proxy', 'mcp-proxy/dist/bin/mcp-proxy.mjs', (port) => ({
      args: ['--port', String(port), '--host', '127.0.0.1', '--server', 'stream', '--', process.execPath, file],
      env: {},
    })),
  ];
}

interface Command {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

function peer(name: string, file: string, commandOf: (port: number) => Command): Peer {
  return {
    name,
    start: async () => {
      const port = await freePort();
      const { args, env } = commandOf(port);
      const program = [join(FOLDER, 'node_modules', file), ...args];
      const started = await startChild({ command: process.execPath, args: program, env: { ...process.env, ...env } });
      if (!started.ok) throw new Error(started.detail);
      return { child: started.child, client: await ready(`http://127.0.0.1:${port}/mcp`, started.child) };
    },
  };
}

async function ready(url: string, child: Child): Promise<BenchClient> {
  const endsAtMs = Date.now() + READY_MS;
  for (;;) {
    try {
      return await benchClient(url);
    } catch (error) {
      if (Date.now() > endsAtMs) throw new Error(`${String(error)}\n${child.recentOutput()}`, { cause: error });
      await delay(200);
    }
  }
}
