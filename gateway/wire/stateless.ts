import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../../core/json';
import { requesterId, type Requester } from '../../core/requester';
import type { ClientMessage, Gate } from '../ports';

/** The first revision without sessions: each request says itself who sends it and which revision it speaks. */
const STATELESS_SINCE = '2026-07-28';
const PREFIX = 'io.modelcontextprotocol/';
const VERSION_KEY = `${PREFIX}protocolVersion`;

/** What a stateless request says of its sender; a request of the gateway on its behalf says the same. */
export interface StatelessSender {
  readonly revision: string;
  readonly clientName: string | null;
  /** The keys of `_meta` that the protocol reserves, as the client wrote them. */
  readonly meta: JsonObject;
}

/** The sender of a stateless request; null for a message of an earlier revision. */
export function statelessSender({ params }: ClientMessage): StatelessSender | null {
  const said = params['_meta'];
  const meta = said !== undefined && isJsonObject(said) ? said : {};
  const revision = meta[VERSION_KEY];
  if (typeof revision !== 'string' || revision < STATELESS_SINCE) return null;
  const own = Object.fromEntries(Object.entries(meta).filter(([name]) => name.startsWith(PREFIX)));
  const info = own[`${PREFIX}clientInfo`];
  const name = info !== undefined && isJsonObject(info) ? info['name'] : undefined;
  return { revision, clientName: typeof name === 'string' ? name : null, meta: own };
}

/** Where the headers of a stateless request and its body differ, in words; null where they agree. */
export function headerMismatch(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  message: ClientMessage,
  { revision }: StatelessSender,
): string | null {
  if (headers['mcp-protocol-version'] !== revision) return 'MCP-Protocol-Version and the body name two revisions';
  if (headers['mcp-method'] !== message.method) return 'Mcp-Method and the body name two methods';
  const name = message.params['name'];
  const inHeader = decoded(headers['mcp-name']);
  if (message.method === 'tools/call' && inHeader !== name) return 'Mcp-Name and the body name two tools';
  return null;
}

/** The headers that repeat what a message of the gateway says. */
export function statelessHeaders(message: JsonObject): Record<string, string> {
  const { method, params } = message;
  const name = params !== undefined && isJsonObject(params) ? params['name'] : undefined;
  return {
    ...(typeof method === 'string' && { 'mcp-method': method }),
    ...(typeof name === 'string' && { 'mcp-name': encoded(name) }),
  };
}

const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
const BASE64 = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/** A value that no header can hold is sent as Base64, in a form of its own (2026-07-28, transports). */
function encoded(value: string): string {
  return PLAIN.test(value) && !BASE64.test(value) ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}

function decoded(value: string | readonly string[] | undefined): string | undefined {
  if (typeof value !== 'string') return undefined;
  const inside = BASE64.exec(value)?.[1];
  return inside === undefined ? value : Buffer.from(inside, 'base64').toString('utf8');
}

/** A gate whose results say that they are whole, as every result does from 2026-07-28 on. */
export function completing(gate: Gate): Gate {
  return {
    ...gate,
    judge: async (call) => {
      const answer = await gate.judge(call);
      if (answer.kind !== 'result') return answer;
      return { ...answer, result: { resultType: 'complete', ...answer.result } };
    },
  };
}

const MOST_PROFILES = 1_000;

/** One object for all requests of a sender that says the same of itself: it is shown the same tools. */
export class SenderProfiles {
  private readonly profiles = new Map<string, object>();

  of(requester: Requester, { meta }: StatelessSender): object {
    // Hashed: what a client says of itself may be long.
    const key = createHash('sha256')
      .update(JSON.stringify([requesterId(requester), meta]))
      .digest('base64url');
    const profile = this.profiles.get(key) ?? {};
    if (this.profiles.size >= MOST_PROFILES) this.profiles.clear();
    this.profiles.set(key, profile);
    return profile;
  }
}
