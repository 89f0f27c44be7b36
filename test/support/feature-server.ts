import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  ElicitResultSchema,
  ListRootsResultSchema,
  ListToolsRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
type Level = (typeof LEVELS)[number];

/** What reached the server of one HTTP request. */
export interface SeenRequest {
  readonly verb: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: { readonly id?: unknown; readonly method?: string; readonly params?: Record<string, unknown> } | null;
}

/** A real MCP server on HTTP with state in each session: log level, subscriptions, roots, questions to the client. */
export interface FeatureServer {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  readonly sessionIds: readonly string[];
  /** Calls of `slow` that the server was told to stop. */
  readonly stopped: readonly unknown[];
  /** Calls of `write`, with the roots of their session as the server knew them. */
  readonly written: readonly { readonly roots: readonly string[]; readonly session: string | undefined }[];
  /** Logs in every session that wants the level. */
  log(level: Level, data: string): Promise<void>;
  touch(uri: string): Promise<void>;
  /** Adds a tool, and says so to every session. */
  addTool(name: string): Promise<void>;
  release(): void;
  close(): Promise<void>;
}

interface Session {
  readonly transport: StreamableHTTPServerTransport;
  readonly mcp: McpServer;
  level: Level;
  /** As the client last named them, when it was asked by `where`. */
  roots: readonly string[];
  readonly subscribed: Set<string>;
}

const QUESTION = { message: 'Which?', requestedSchema: { type: 'object' as const, properties: {} } };
const noArguments = { type: 'object' as const };

export async function startFeatureServer(): Promise<FeatureServer> {
  const seen: SeenRequest[] = [];
  const sessions = new Map<string, Session>();
  const stopped: unknown[] = [];
  const written: { roots: readonly string[]; session: string | undefined }[] = [];
  const waiting: (() => void)[] = [];
  const names = ['ask', 'slow', 'write', 'where'];
  const http = createServer((request, response) => void handle(request, response));

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body = text === '' ? null : (JSON.parse(text) as SeenRequest['body']);
    seen.push({ verb: request.method ?? '', headers: request.headers, body });
    const id = request.headers['mcp-session-id'];
    const session =
      typeof id === 'string' ? sessions.get(id) : body?.method === 'initialize' ? await open() : undefined;
    if (session === undefined) {
      response.writeHead(404).end();
      return;
    }
    await session.transport.handleRequest(request, response, body ?? undefined);
  }

  async function open(): Promise<Session> {
    const capabilities = { tools: { listChanged: true }, logging: {}, resources: { subscribe: true } };
    const mcp = new McpServer({ name: 'feature', version: '1' }, { capabilities });
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, session),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    const session: Session = { transport, mcp, level: 'debug', roots: [], subscribed: new Set() };
    const { server } = mcp;
    server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
      session.level = params.level;
      return {};
    });
    server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
      session.subscribed.add(params.uri);
      return {};
    });
    server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
      const at = Number(params?.cursor ?? 0);
      const tools = names.slice(at, at + 2).map((name) => ({ name, inputSchema: noArguments }));
      return { tools, ...(at + 2 < names.length && { nextCursor: String(at + 2) }) };
    });
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendRequest, sendNotification }) => {
      const { name, _meta: meta } = params;
      if (name === 'ask') {
        const answer = await sendRequest({ method: 'elicitation/create', params: QUESTION }, ElicitResultSchema);
        return said(answer.action);
      }
      if (name === 'slow') {
        const progressToken = meta?.progressToken;
        for (const progress of progressToken === undefined ? [] : [1, 2])
          await sendNotification({ method: 'notifications/progress', params: { progressToken, progress } as never });
        await new Promise<void>((go) => {
          waiting.push(go);
          signal.addEventListener('abort', () => {
            stopped.push(params.arguments?.['n']);
            go();
          });
        });
        return said(`slow ${String(params.arguments?.['n'])}`);
      }
      if (name === 'where') {
        session.roots = (await sendRequest({ method: 'roots/list' }, ListRootsResultSchema)).roots.map(
          ({ uri }) => uri,
        );
        return said(session.roots.join());
      }
      if (name === 'write') {
        written.push({ roots: session.roots, session: transport.sessionId });
        return said(`wrote in ${session.roots.join()}`);
      }
      return said(name);
    });
    await mcp.connect(transport);
    return session;
  }

  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const all = (work: (session: Session) => Promise<void>) => Promise.all([...sessions.values()].map(work));
  return {
    ...{ seen, stopped, written },
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    get sessionIds() {
      return [...sessions.keys()];
    },
    async log(level, data) {
      const wants = (session: Session) => LEVELS.indexOf(level) >= LEVELS.indexOf(session.level);
      await all((session) =>
        wants(session) ? session.mcp.server.sendLoggingMessage({ level, data }) : Promise.resolve(),
      );
    },
    async touch(uri) {
      await all(({ subscribed, mcp }) =>
        subscribed.has(uri) ? mcp.server.sendResourceUpdated({ uri }) : Promise.resolve(),
      );
    },
    async addTool(name) {
      names.push(name);
      await all(({ mcp }) => mcp.server.sendToolListChanged());
    },
    release: () => waiting.splice(0).forEach((go) => go()),
    async close() {
      const closed = once(http, 'close');
      http.close();
      http.closeAllConnections();
      await closed;
    },
  };
}

function said(text: string) {
  return { content: [{ type: 'text' as const, text }] };
}
