import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  ElicitResultSchema,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import type { JsonObject } from '../../core/json';
import { answerOf, TOOL_DEFINITIONS, WRITING_TOOLS } from './tool-definitions';

/** What a tool does instead of working and answering. */
export type Behaviour =
  /** Waits until the caller has given up, then works and answers. */
  | { readonly kind: 'late' }
  /** Waits until `release`, then works and answers. */
  | { readonly kind: 'hold' }
  /** Works and never answers; the connection stays open. */
  | { readonly kind: 'commitThenSilent' }
  /** Works and closes the connection without an answer. */
  | { readonly kind: 'commitThenDrop' }
  /** Neither works nor answers. */
  | { readonly kind: 'hang' }
  /** Closes the connection without having worked. */
  | { readonly kind: 'drop' }
  /** Refuses with a JSON-RPC error (-32603 unless stated), `commit`: after it has worked. */
  | { readonly kind: 'error'; readonly code?: number; readonly commit?: boolean }
  /** Works and answers a result with `isError: true`. */
  | { readonly kind: 'isError' }
  /** Works and answers with a text of so many characters. */
  | { readonly kind: 'big'; readonly chars: number }
  /** Asks the caller for input first, and works only if it gets some. */
  | { readonly kind: 'elicit' }
  /** Answers with an HTTP status and body, before MCP sees the call; `work`: after it has worked. */
  | {
      readonly kind: 'http';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: (requestId: unknown) => string;
      readonly work?: boolean;
    };

/** A call as it arrived: `operationId` from the argument or from `_meta`. */
export interface ReceivedCall {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly meta: JsonObject;
  readonly operationId: string | undefined;
}

/** A real MCP server on HTTP whose effects are counted here, never by Holdpoint's own records. */
export interface TestToolServer {
  readonly url: string;
  /** Everything that arrived, in order. */
  readonly received: readonly ReceivedCall[];
  /** Every effect, in order: of `delete_rows`, `apply_migration` and `send_mail`. */
  readonly runs: readonly ReceivedCall[];
  /** Notices of cancelled calls. */
  readonly cancelled: readonly unknown[];
  /** The `traceparent` of each call's HTTP request. */
  readonly traceparents: readonly { readonly tool: string; readonly traceparent: string | undefined }[];
  readonly sessionsOpened: number;
  readonly sessionsOpen: number;
  runsOf(tool: string): readonly ReceivedCall[];
  receivedBy(tool: string): readonly ReceivedCall[];
  /** From now on, or for the next `times` calls of the tool; undefined: works and answers. */
  behave(tool: string, behaviour: Behaviour | undefined, times?: number): void;
  /** Lets go of the calls that `hold` keeps. */
  release(tool: string): void;
  /** What `schema_version` answers; 7 at the start. */
  setVersion(version: number): void;
  /** What `read_rows` answers. */
  setRows(rows: readonly JsonObject[]): void;
  /** Overrides parts of a tool's listed definition, or takes the tool off the list. */
  changeTool(tool: string, change: JsonObject | null): void;
  /** Stops listening and cuts every connection: from then on connections are refused. Sessions are forgotten. */
  stop(): Promise<void>;
  /** Listens again, on the same port. */
  start(): Promise<void>;
  close(): Promise<void>;
}

interface Session {
  readonly transport: StreamableHTTPServerTransport;
}

interface Caller {
  readonly signal: AbortSignal;
  readonly elicit: () => Promise<unknown>;
}

const QUESTION = {
  message: 'Really?',
  requestedSchema: { type: 'object' as const, properties: { sure: { type: 'boolean' as const } } },
};

/** Starts the server on a port of its own. */
export async function startToolServer(): Promise<TestToolServer> {
  const server = new InProcessToolServer();
  await server.start();
  return server;
}

class InProcessToolServer implements TestToolServer {
  readonly received: ReceivedCall[] = [];
  readonly runs: ReceivedCall[] = [];
  readonly cancelled: unknown[] = [];
  readonly traceparents: { readonly tool: string; readonly traceparent: string | undefined }[] = [];
  sessionsOpened = 0;
  url = '';
  private readonly http = createServer((request, response) => void this.handle(request, response));
  private readonly sessions = new Map<string, Session>();
  private readonly behaviours = new Map<string, { readonly behaviour: Behaviour; left: number }>();
  private readonly held = new Map<string, (() => void)[]>();
  private readonly changes = new Map<string, JsonObject | null>();
  private readonly responses = new AsyncLocalStorage<ServerResponse>();
  private port = 0;
  private version = 7;
  private rows: readonly JsonObject[] = [{ id: 1, item: 'chair' }];

  get sessionsOpen(): number {
    return this.sessions.size;
  }

  runsOf(tool: string): readonly ReceivedCall[] {
    return this.runs.filter((run) => run.tool === tool);
  }

  receivedBy(tool: string): readonly ReceivedCall[] {
    return this.received.filter((call) => call.tool === tool);
  }

  behave(tool: string, behaviour: Behaviour | undefined, times = Infinity): void {
    if (behaviour === undefined) this.behaviours.delete(tool);
    else this.behaviours.set(tool, { behaviour, left: times });
  }

  release(tool: string): void {
    for (const go of this.held.get(tool) ?? []) go();
    this.held.delete(tool);
  }

  setVersion(version: number): void {
    this.version = version;
  }

  setRows(rows: readonly JsonObject[]): void {
    this.rows = rows;
  }

  changeTool(tool: string, change: JsonObject | null): void {
    this.changes.set(tool, change);
  }

  async start(): Promise<void> {
    this.http.listen(this.port, '127.0.0.1');
    await once(this.http, 'listening');
    this.port = (this.http.address() as AddressInfo).port;
    this.url = `http://127.0.0.1:${this.port}/mcp`;
  }

  async stop(): Promise<void> {
    if (!this.http.listening) return;
    const closed = once(this.http, 'close');
    this.http.close();
    this.http.closeAllConnections();
    await closed;
    this.sessions.clear();
  }

  async close(): Promise<void> {
    for (const tool of [...this.held.keys()]) this.release(tool);
    await this.stop();
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readJson(request);
    if ((body as { method?: unknown } | undefined)?.method === 'notifications/cancelled') this.cancelled.push(body);
    const tool = calledTool(body);
    const behaviour = tool === undefined ? undefined : this.peek(tool);
    if (tool !== undefined) this.traceparents.push({ tool, traceparent: request.headers['traceparent']?.toString() });
    if (tool !== undefined && behaviour?.kind === 'http') {
      this.take(tool);
      const call = receivedCall(tool, (body as { params: JsonObject }).params);
      this.received.push(call);
      if (behaviour.work === true) this.work(call);
      response.writeHead(behaviour.status, behaviour.headers).end(behaviour.body?.((body as { id?: unknown }).id));
      return;
    }
    const session = await this.sessionOf(request, body);
    if (session === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } }));
      return;
    }
    await this.responses.run(response, () => session.transport.handleRequest(request, response, body));
  }

  private async sessionOf(request: IncomingMessage, body: unknown): Promise<Session | undefined> {
    const id = request.headers['mcp-session-id'];
    if (typeof id === 'string') return this.sessions.get(id);
    if ((body as { method?: unknown } | undefined)?.method !== 'initialize') return undefined;
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (sessionId) => {
        this.sessions.set(sessionId, session);
        this.sessionsOpened += 1;
      },
      onsessionclosed: (sessionId) => void this.sessions.delete(sessionId),
    });
    // Its low-level half: the definitions here are raw JSON, as other languages' servers list them.
    const { server } = new McpServer({ name: 'orders-db', version: '1.0.0' }, { capabilities: { tools: {} } });
    const session: Session = { transport };
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: this.listed() }));
    server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal, sendRequest }) =>
      this.call(receivedCall(params.name, params as unknown as JsonObject), {
        signal,
        elicit: () => sendRequest({ method: 'elicitation/create', params: QUESTION }, ElicitResultSchema),
      }),
    );
    await server.connect(transport);
    return session;
  }

  private listed(): never[] {
    const tools = TOOL_DEFINITIONS.map((tool) => ({ tool, change: this.changes.get(nameOf(tool)) }));
    return tools.filter(({ change }) => change !== null).map(({ tool, change }) => ({ ...tool, ...change })) as never[];
  }

  private async call(call: ReceivedCall, { signal, elicit }: Caller) {
    this.received.push(call);
    const behaviour = this.take(call.tool);
    if (behaviour === undefined) return this.work(call);
    switch (behaviour.kind) {
      case 'late':
        await aborted(signal);
        return this.work(call);
      case 'hold':
        await new Promise<void>((go) => this.held.set(call.tool, [...(this.held.get(call.tool) ?? []), go]));
        return this.work(call);
      case 'commitThenSilent':
        this.work(call);
        return untilAborted(signal);
      case 'hang':
        return untilAborted(signal);
      case 'commitThenDrop':
        this.work(call);
        return this.drop();
      case 'drop':
        return this.drop();
      case 'error':
        if (behaviour.commit === true) this.work(call);
        throw new McpError(behaviour.code ?? -32603, 'out of order');
      case 'isError':
        return { ...this.work(call), isError: true };
      case 'big':
        this.work(call);
        return { content: [{ type: 'text' as const, text: 'x'.repeat(behaviour.chars) }] };
      case 'elicit': {
        const answered = await elicit().then(
          () => true,
          () => false,
        );
        if (answered) return this.work(call);
        return { content: [{ type: 'text' as const, text: 'no input was given' }], isError: true };
      }
      case 'http':
        throw new Error('answered before MCP');
    }
  }

  private work(call: ReceivedCall) {
    if (WRITING_TOOLS.includes(call.tool)) this.runs.push(call);
    const { version, rows, runs } = this;
    return answerOf(call, { version, rows, ran: (operationId) => runs.find((run) => run.operationId === operationId) });
  }

  private drop(): Promise<never> {
    this.responses.getStore()?.destroy();
    return new Promise(() => undefined);
  }

  private peek(tool: string): Behaviour | undefined {
    return this.behaviours.get(tool)?.behaviour;
  }

  private take(tool: string): Behaviour | undefined {
    const entry = this.behaviours.get(tool);
    if (entry === undefined) return undefined;
    entry.left -= 1;
    if (entry.left <= 0) this.behaviours.delete(tool);
    return entry.behaviour;
  }
}

function nameOf(tool: JsonObject): string {
  return typeof tool['name'] === 'string' ? tool['name'] : '';
}

function receivedCall(tool: string, params: JsonObject): ReceivedCall {
  const args = (params['arguments'] ?? {}) as JsonObject;
  const meta = (params['_meta'] ?? {}) as JsonObject;
  const operationId = args['operation_id'] ?? meta['dev.holdpoint/operation'];
  return { tool, arguments: args, meta, operationId: typeof operationId === 'string' ? operationId : undefined };
}

function calledTool(body: unknown): string | undefined {
  const message = body as { method?: unknown; params?: { name?: unknown } } | undefined;
  if (message?.method !== 'tools/call') return undefined;
  return typeof message.params?.name === 'string' ? message.params.name : undefined;
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString());
}

/** Never answers; a cancelled call only stops waiting, so that nothing is left over when the test ends. */
async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

async function untilAborted(signal: AbortSignal): Promise<never> {
  await aborted(signal);
  return new Promise<never>(() => undefined);
}
