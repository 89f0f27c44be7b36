import { validateHeaderName, validateHeaderValue } from 'node:http';
import { LATEST_PROTOCOL_VERSION, SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/sdk/types.js';
import type { Transport } from '../core/policy';
import { createHttpConnection } from './http-connection';
import type { RpcConnection } from './rpc';
import { resolveRecord } from './secret-references';
import type { ResolveSecret } from './secret-references';
import { startStdioConnection } from './stdio-connection';

const HTTP_HANDSHAKE_TIMEOUT_MS = 10_000;
/** A server that a package runner has to fetch first takes its time. */
const STDIO_HANDSHAKE_TIMEOUT_MS = 60_000;

export type Connected =
  { readonly ok: true; readonly connection: RpcConnection } | { readonly ok: false; readonly detail: string };

/**
 * Connects to a tool server and agrees on a revision. The client declares no capability at all, so a server that asks
 * for sampling, elicitation or roots in the middle of an approved call is refused.
 */
export async function connect(transport: Transport, resolveSecret: ResolveSecret): Promise<Connected> {
  const opened = await open(transport, resolveSecret);
  if (!opened.ok) return opened;
  const { connection } = opened;
  const detail = await shakeHands(connection, transport.kind);
  if (detail === undefined) return opened;
  await connection.close();
  return { ok: false, detail };
}

async function open(transport: Transport, resolveSecret: ResolveSecret): Promise<Connected> {
  if (transport.kind === 'stdio') {
    const env = resolveRecord(transport.env, resolveSecret);
    return env.ok ? startStdioConnection({ ...transport, env: env.value }) : notSet(env.missing);
  }
  const headers = resolveRecord(transport.headers, resolveSecret);
  if (!headers.ok) return notSet(headers.missing);
  if (!URL.canParse(transport.url)) return { ok: false, detail: `${transport.url} is not a URL` };
  const unfit = unfitHeader(headers.value);
  if (unfit !== undefined) return { ok: false, detail: `the header ${unfit} holds what no HTTP header may hold` };
  return { ok: true, connection: createHttpConnection(new URL(transport.url), headers.value) };
}

function notSet(name: string): Connected {
  return { ok: false, detail: `\${${name}} is not set; set it where the worker runs and start it again` };
}

function unfitHeader(headers: Readonly<Record<string, string>>): string | undefined {
  for (const [name, value] of Object.entries(headers)) {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      return name;
    }
  }
  return undefined;
}

/** What went wrong in the handshake; undefined where it succeeded. */
async function shakeHands(connection: RpcConnection, kind: Transport['kind']): Promise<string | undefined> {
  const reply = await connection.request({
    method: 'initialize',
    params: {
      protocolVersion: LATEST_PROTOCOL_VERSION,
      capabilities: {},
      clientInfo: { name: 'holdpoint', version: '1' },
    },
    repeatable: true,
    timeoutMs: kind === 'http' ? HTTP_HANDSHAKE_TIMEOUT_MS : STDIO_HANDSHAKE_TIMEOUT_MS,
  });
  if (reply.kind === 'error') return `it refused to be initialised: ${reply.code} ${reply.message}`;
  if (reply.kind !== 'result') return reply.detail;
  const version = reply.result['protocolVersion'];
  if (typeof version !== 'string' || !SUPPORTED_PROTOCOL_VERSIONS.includes(version)) {
    return `it speaks no revision of MCP that is known here (${SUPPORTED_PROTOCOL_VERSIONS.join(', ')})`;
  }
  connection.useProtocol(version);
  await connection.notify('notifications/initialized');
  return undefined;
}
