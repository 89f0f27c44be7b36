import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RawMessage {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

export interface RawRequest {
  readonly verb: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly message: RawMessage | undefined;
}

/** Answers one HTTP request in whatever way a test wants; false leaves it to the server's own good manners. */
export type RawAnswer = (request: RawRequest, response: ServerResponse) => boolean | Promise<boolean>;

/** An MCP endpoint on bare HTTP that misbehaves exactly as it is told. */
export interface RawMcpServer {
  readonly url: string;
  readonly requests: readonly RawRequest[];
  /** The requests with a JSON-RPC method, in order. */
  methods(): readonly string[];
  close(): Promise<void>;
}

/** Starts the endpoint. Unless `answer` takes a request, it initialises, lists one tool, and answers calls with `ok`. */
export async function startRawMcpServer(answer: RawAnswer = () => false): Promise<RawMcpServer> {
  const requests: RawRequest[] = [];
  const http = createServer((incoming, response) => {
    void readMessage(incoming).then(async (message) => {
      const request = { verb: incoming.method, headers: incoming.headers, message };
      requests.push(request);
      if (!(await answer(request, response))) behaveWell(request, response);
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    requests,
    methods: () => requests.flatMap(({ message }) => message?.method ?? []),
    async close() {
      if (!http.listening) return;
      const closed = once(http, 'close');
      http.close();
      http.closeAllConnections();
      await closed;
    },
  };
}

/** Sends a whole JSON answer. */
export function sendJson(response: ServerResponse, body: unknown, headers: Record<string, string> = {}): true {
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  return true;
}

/** Opens a stream of server-sent events. */
export function openStream(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream' });
}

/** One server-sent event that carries a message. */
export function eventOf(message: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(message)}\n\n`;
}

export const OK = { content: [{ type: 'text', text: 'ok' }] };

function behaveWell({ message }: RawRequest, response: ServerResponse): void {
  if (message?.id === undefined || message.method === undefined) {
    response.writeHead(202).end();
    return;
  }
  const results: Readonly<Record<string, unknown>> = {
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'raw', version: '1' },
    },
    'tools/list': { tools: [{ name: 'act', inputSchema: { type: 'object' } }] },
    'tools/call': OK,
  };
  sendJson(response, { jsonrpc: '2.0', id: message.id, result: results[message.method] }, { 'mcp-session-id': 's1' });
}

async function readMessage(incoming: IncomingMessage): Promise<RawMessage | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? undefined : (JSON.parse(Buffer.concat(chunks).toString()) as RawMessage);
}
