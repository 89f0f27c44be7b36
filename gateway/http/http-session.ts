import type { Agent, IncomingMessage } from 'node:http';
import { joinHttpSession, type ForeignSession } from '../../activities/http-connection';
import { exchange } from '../../activities/http-exchange';
import { parseJson, type RpcReply, type RpcRequest } from '../../activities/rpc';
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from '../../core/json';
import type { Requester } from '../../core/requester';
import type { ClientMessage, ClientSession } from '../ports';
import { statelessHeaders, type StatelessSender } from '../wire/stateless';

/** Where the requests of a server's clients go, with the gateway's own credentials. */
export interface HttpUpstream {
  readonly server: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: Agent;
}

const REOPEN_MS = 10_000;
const LATE = 'this process was held up after it had reserved the operation';

/** The gateway's own ids in a session are counted from here: its client counts from 0 or uses texts. */
const FIRST_OWN_ID = 4_000_000_000_000_000;

/** One client's session at an HTTP upstream, as far as the gateway has seen it. */
export class HttpSession implements ClientSession {
  readonly requester: Requester;
  clientName: string | null = null;
  revision: string | null = null;
  roots: JsonValue = null;
  /** The session of the upstream; null where it has none. */
  upstreamId: string | null;
  /** What the client opened the session with, to open it again where the upstream has lost it. */
  initialize: string | null = null;
  /** The id that the client knows; null where it has none. */
  id: string | null = null;
  /** Whether the client has said that it has roots. */
  hasRoots = false;
  /** True once the upstream did not know the session, and it could not be opened anew. */
  isGone = false;
  private readonly upstream: HttpUpstream;
  private nextId = FIRST_OWN_ID + Math.floor(Math.random() * 1e15);
  private toolsMayDiffer = false;
  private reopening: Promise<boolean> | undefined;
  private readonly waiting = new Map<string | number, AbortController>();
  /** Ids of the upstream's questions for roots that the client has not answered yet. */
  private readonly rootsAsked = new Set<string>();

  constructor(upstream: HttpUpstream, requester: Requester, upstreamId: string | null) {
    this.upstream = upstream;
    this.requester = requester;
    this.upstreamId = upstreamId;
  }

  get server(): string {
    return this.upstream.server;
  }

  async request(request: RpcRequest): Promise<RpcReply> {
    const reply = await this.ask(request);
    // The upstream does not know the session, so it took nothing up.
    if (reply.kind !== 'sessionGone') return reply;
    this.isGone = !(await this.reopen());
    return this.isGone ? reply : this.ask(request);
  }

  /** Opens the session anew with the client's own words; false where that cannot be done. */
  reopen(): Promise<boolean> {
    this.reopening ??= this.openAnew().finally(() => (this.reopening = undefined));
    return this.reopening;
  }

  /** True once after the session was opened anew. */
  takeToolsMayDiffer(): boolean {
    const { toolsMayDiffer } = this;
    this.toolsMayDiffer = false;
    return toolsMayDiffer;
  }

  private ask(request: RpcRequest): Promise<RpcReply> {
    // Looked up meanwhile and told as not done: what stood still since then is not sent any more.
    if (request.isLate?.() === true) return Promise.resolve({ kind: 'notDispatched', detail: LATE });
    const { url, headers } = this.upstream;
    return joinHttpSession(url, headers, this.joined()).request(request);
  }

  private async openAnew(): Promise<boolean> {
    if (this.initialize === null) return false;
    const opened = await this.post(this.initialize, null);
    const upstreamId = opened?.headers['mcp-session-id'];
    opened?.resume();
    if (opened?.statusCode !== 200 || typeof upstreamId !== 'string') return false;
    this.upstreamId = upstreamId;
    (await this.post('{"jsonrpc":"2.0","method":"notifications/initialized"}', upstreamId))?.resume();
    this.toolsMayDiffer = true;
    return true;
  }

  private async post(body: string, sessionId: string | null): Promise<IncomingMessage | null> {
    const { url, headers, agent } = this.upstream;
    const said = {
      ...headers,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      accept: 'application/json, text/event-stream',
      ...(sessionId !== null && { 'mcp-session-id': sessionId }),
      ...(sessionId !== null && this.revision !== null && { 'mcp-protocol-version': this.revision }),
    };
    const signal = AbortSignal.timeout(REOPEN_MS);
    const sent = await exchange({ url, method: 'POST', headers: said, body, agent, signal });
    return sent.ok ? sent.response : null;
  }

  protected joined(): ForeignSession {
    this.nextId += 1;
    const { upstreamId: sessionId, revision: protocolVersion, nextId: firstId } = this;
    return { sessionId, protocolVersion, firstId, agent: this.upstream.agent };
  }

  /** Notes what a message of the client says of its session. */
  note({ kind, id, method, params, text }: ClientMessage): void {
    if (method === 'initialize') {
      this.initialize = text;
      this.clientName = nameOf(params);
      const { capabilities } = params;
      this.hasRoots = capabilities !== undefined && isJsonObject(capabilities) && capabilities['roots'] !== undefined;
    }
    const { roots } = params;
    // What answers no question reaches no reader at the upstream either.
    if (kind === 'reply' && this.rootsAsked.delete(idKey(id)) && roots !== undefined && isJsonArray(roots))
      this.roots = roots;
  }

  /** Hears a message of the upstream on its way to the client. */
  overhear(text: string): void {
    if (!this.hasRoots || !text.includes('roots/list')) return;
    const message = parseJson(text);
    if (message === undefined || !isJsonObject(message) || message['method'] !== 'roots/list') return;
    if (message['id'] !== undefined) this.rootsAsked.add(idKey(message['id']));
  }

  /** True while a call of it is answered by the gateway. */
  get isBusy(): boolean {
    return this.waiting.size > 0;
  }

  /** A call that the gateway answers; null where one of the same id is under way. */
  begin(id: string | number): AbortController | null {
    if (this.waiting.has(id)) return null;
    const controller = new AbortController();
    this.waiting.set(id, controller);
    return controller;
  }

  end(id: string | number): void {
    this.waiting.delete(id);
  }

  /** @returns true where the client has cancelled a call that the gateway answers: its upstream knows nothing of it. */
  cancel({ method, params }: ClientMessage): boolean {
    const id = params['requestId'];
    if (method !== 'notifications/cancelled' || (typeof id !== 'string' && typeof id !== 'number')) return false;
    const controller = this.waiting.get(id);
    controller?.abort();
    return controller !== undefined;
  }
}

/** A client without sessions (2026-07-28): each of its requests says who sends it, and the gateway's say the same. */
export class StatelessSession extends HttpSession {
  readonly profile: object;
  private readonly sender: StatelessSender;
  private readonly paramHeaders: Readonly<Record<string, string>>;

  constructor(
    upstream: HttpUpstream,
    requester: Requester,
    said: {
      readonly sender: StatelessSender;
      readonly profile: object;
      readonly paramHeaders: Readonly<Record<string, string>>;
    },
  ) {
    super(upstream, requester, null);
    this.sender = said.sender;
    this.profile = said.profile;
    this.paramHeaders = said.paramHeaders;
    this.clientName = said.sender.clientName;
    this.revision = said.sender.revision;
  }

  override request(request: RpcRequest): Promise<RpcReply> {
    const { params } = request;
    const own = params['_meta'];
    const meta = { ...this.sender.meta, ...(own !== undefined && isJsonObject(own) ? own : {}) };
    return super.request({ ...request, params: { ...params, _meta: meta } });
  }

  protected override joined(): ForeignSession {
    const headersOf = (message: JsonObject): Record<string, string> => ({
      ...statelessHeaders(message),
      ...(message['method'] === 'tools/call' && this.paramHeaders),
    });
    return { ...super.joined(), headersOf };
  }
}

/** 1 and "1" are two ids. */
function idKey(id: JsonValue): string {
  return JSON.stringify(id);
}

function nameOf({ clientInfo }: JsonObject): string | null {
  const name = clientInfo !== undefined && isJsonObject(clientInfo) ? clientInfo['name'] : undefined;
  return typeof name === 'string' ? name : null;
}
