import type { IncomingMessage, ServerResponse } from 'node:http';
import { exchange, type HttpExchange } from '../../activities/http-exchange';
import type { Admitted } from '../edge/admit';
import { readPost } from '../wire/read-body';
import type { ClientMessage, Gate } from '../ports';
import { isGated } from '../wire/read-message';
import { EventResponse } from '../wire/event-response';
import { judgeCall } from '../wire/judge-call';
import { idText } from '../wire/raw-json';
import { INVALID_REQUEST, refusalOf, refuse, unknownSession } from '../wire/refusal';
import { ClientSessions } from './client-sessions';
import { gateFor } from './gate-views';
import { upstreamHeaders } from './headers';
import { HttpSession, StatelessSession, type HttpUpstream } from './http-session';
import { isEventStream, relayBytes, relayShown, UPSTREAM_GONE, type Relaying } from './relay-answer';
import { headerMismatch, SenderProfiles, statelessSender, type StatelessSender } from '../wire/stateless';

/** One server's endpoint of the gateway. */
export interface Endpoint {
  /** Serves an admitted request, to its end. Never throws. */
  handle(req: IncomingMessage, res: ServerResponse, caller: Admitted): Promise<void>;
  close(): Promise<void>;
}

export interface HttpEndpointOptions {
  readonly upstream: HttpUpstream;
  readonly gate: Gate;
  /** Seals the ids of sessions; 32 bytes, the same in every gateway. */
  readonly sessionKey: Uint8Array;
  readonly sessionIdleMs: number;
  readonly sessionsPerRequester: number;
  /** True where approved calls run on the client's own session. */
  readonly runsOnSession: boolean;
}

/**
 * A byte-passing reverse proxy that reads what it passes: what nobody asks about goes to the upstream and back as it is,
 * only lists of tools are shown as the gate shows them, and held calls are answered here.
 */
export function createHttpEndpoint(options: HttpEndpointOptions): Endpoint {
  return new HttpEndpoint(options);
}

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly caller: Admitted;
}

class HttpEndpoint implements Endpoint {
  private readonly upstream: HttpUpstream;
  private readonly gate: Gate;
  private readonly sessions: ClientSessions;
  private readonly profiles = new SenderProfiles();

  constructor({ gate, ...options }: HttpEndpointOptions) {
    this.upstream = options.upstream;
    this.gate = gate;
    this.sessions = new ClientSessions(options);
  }

  async handle(req: IncomingMessage, res: ServerResponse, caller: Admitted): Promise<void> {
    res.on('error', () => undefined);
    const at = { req, res, caller };
    switch (req.method) {
      case 'POST':
        return this.post(at);
      case 'GET':
      case 'DELETE':
        return this.passOn(at, req.method);
      default:
        refuse(
          res,
          refusalOf(405, 'This address takes POST, GET and DELETE', { headers: { allow: 'POST, GET, DELETE' } }),
        );
    }
  }

  close(): Promise<void> {
    this.sessions.close();
    this.upstream.agent.destroy();
    return Promise.resolve();
  }

  private async post(at: Exchange): Promise<void> {
    const read = await readPost(at.req);
    if (!read.ok) {
      refuse(at.res, read.refusal);
      return;
    }
    const session = this.sessionOf(at, read.message);
    if (session === null) {
      refuse(at.res, unknownSession());
      return;
    }
    await this.message(at, session, read.message);
  }

  /** The session of a message; null for one that is not this requester's. */
  private sessionOf({ req, caller }: Exchange, message: ClientMessage): HttpSession | null {
    const { requester } = caller;
    const sender = statelessSender(message);
    if (sender !== null) return this.stateless(req, requester, sender);
    const given = req.headers['mcp-session-id'];
    if (given === undefined) return new HttpSession(this.upstream, requester, null);
    const session = typeof given === 'string' ? this.sessions.find(given, requester) : null;
    const revision = req.headers['mcp-protocol-version'];
    if (session !== null && typeof revision === 'string') session.revision = revision;
    return session;
  }

  private stateless(req: IncomingMessage, requester: Admitted['requester'], sender: StatelessSender): HttpSession {
    const profile = this.profiles.of(requester, sender);
    const params = Object.entries(upstreamHeaders(req.headers)).filter(([name]) => name.startsWith('mcp-param-'));
    return new StatelessSession(this.upstream, requester, {
      sender,
      profile,
      paramHeaders: Object.fromEntries(params),
    });
  }

  private async message(at: Exchange, session: HttpSession, message: ClientMessage): Promise<void> {
    session.note(message);
    if (session.cancel(message)) {
      at.res.writeHead(202).end();
      return;
    }
    if (message.kind === 'request' && isGated(message.method)) {
      const isFree = await this.judged(at, session, message);
      if (!isFree) return;
    }
    await this.forward(at, session, message);
  }

  /** @returns true where the call goes on to the upstream. */
  private async judged(at: Exchange, session: HttpSession, message: ClientMessage): Promise<boolean> {
    const { req, res, caller } = at;
    if (!caller.mayCall) {
      refuse(res, { ...caller.challenge, idText: idText(message.text) });
      return false;
    }
    const sender = statelessSender(message);
    const mismatch = sender === null ? null : headerMismatch(req.headers, message, sender);
    if (mismatch !== null) {
      const rule = `${mismatch}; the body decides, so they have to agree`;
      refuse(res, refusalOf(400, rule, { code: HEADER_MISMATCH, idText: idText(message.text) }));
      return false;
    }
    const id = message.id ?? 0;
    const cancel = session.begin(id);
    if (cancel === null) {
      const more = { code: INVALID_REQUEST, idText: idText(message.text) };
      refuse(res, refusalOf(400, 'A request of this id is under way', more));
      return false;
    }
    const response = new EventResponse({ res, headers: {} });
    response.onLeft(() => cancel.abort());
    try {
      const gate = gateFor(res, { gate: this.gate, session, isStateless: sender !== null });
      const takesStream = req.headers.accept?.includes('text/event-stream') === true;
      return await judgeCall(gate, session, { message, response, cancel, takesStream });
    } finally {
      session.end(id);
    }
  }

  private async forward(at: Exchange, session: HttpSession, message: ClientMessage): Promise<void> {
    const idOf = message.kind === 'request' ? idText(message.text) : null;
    let sent = await this.send(at, session, message.text);
    if (sent.ok && sent.response.statusCode === 404 && session.initialize !== null && message.method !== 'initialize') {
      // Its upstream has lost the session, so it took nothing up.
      if (await session.reopen()) {
        sent.response.resume();
        sent = await this.send(at, session, message.text);
      }
    }
    if (!sent.ok) {
      unreachable(at.res, sent, idOf);
      return;
    }
    const { response } = sent;
    const headers = this.sessionHeaders(session, { message, response });
    const relaying = { upstream: response, res: at.res, headers, idText: idOf, ...overhearing(session) };
    if (message.method === 'tools/list') await relayShown(relaying, (text) => this.gate.showList(session, text));
    else if (isGated(message.method)) await relayShown(relaying, (text) => this.gate.showAnswer(text));
    else relayBytes(relaying);
  }

  /** What the upstream's answer to `initialize` opens gets an id that is its requester's own. */
  private sessionHeaders(
    session: HttpSession,
    { message, response }: { readonly message: ClientMessage; readonly response: IncomingMessage },
  ): Record<string, string> {
    const { 'mcp-session-id': upstreamId } = response.headers;
    if (message.method === 'initialize' && response.statusCode === 200)
      this.sessions.open(session, typeof upstreamId === 'string' ? upstreamId : null);
    return session.id === null ? {} : { 'mcp-session-id': session.id };
  }

  private send({ req, res }: Exchange, session: HttpSession, body: string | undefined): Promise<HttpExchange> {
    const left = new AbortController();
    res.on('close', () => left.abort());
    const { url, headers, agent } = this.upstream;
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const own = session.upstreamId === null ? {} : { 'mcp-session-id': session.upstreamId };
    return exchange({
      url,
      method: methodOf(req),
      headers: { ...upstreamHeaders(req.headers), ...headers, ...own, ...length, ...AS_IT_IS },
      ...(body !== undefined && { body }),
      agent,
      signal: left.signal,
    });
  }

  private async passOn(at: Exchange, method: 'GET' | 'DELETE'): Promise<void> {
    const given = at.req.headers['mcp-session-id'];
    const { requester } = at.caller;
    const session =
      typeof given === 'string'
        ? this.sessions.find(given, requester)
        : new HttpSession(this.upstream, requester, null);
    if (session === null) {
      refuse(at.res, unknownSession());
      return;
    }
    if (method === 'DELETE' && session.id !== null && session.upstreamId === null) {
      // The upstream has no sessions: this one is the gateway's own.
      this.sessions.end(session.id);
      at.res.writeHead(200).end();
      return;
    }
    const sent = await this.send(at, session, undefined);
    if (!sent.ok) {
      unreachable(at.res, sent, null);
      return;
    }
    if (method === 'DELETE' && typeof given === 'string') this.sessions.end(given);
    const relaying: Relaying = {
      ...{ upstream: sent.response, res: at.res, headers: {}, idText: null },
      ...overhearing(session),
    };
    if (session.takeToolsMayDiffer()) relaying.first = TOOLS_CHANGED;
    // What is resumed may be the answer to anything.
    const show = async (text: string): Promise<string> => this.gate.showAnswer(await this.gate.showList(session, text));
    if (isEventStream(sent.response)) await relayShown(relaying, show);
    else relayBytes(relaying);
  }
}

/** What is packed cannot be read here, nor shown as the gate shows it. */
const AS_IT_IS = { 'accept-encoding': 'identity' };
const TOOLS_CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
const HEADER_MISMATCH = -32020;

function overhearing(session: HttpSession): Pick<Relaying, 'overhear'> {
  return session.hasRoots ? { overhear: (text) => session.overhear(text) } : {};
}

function methodOf({ method }: IncomingMessage): 'GET' | 'POST' | 'DELETE' {
  return method === 'GET' || method === 'DELETE' ? method : 'POST';
}

function unreachable(res: ServerResponse, sent: HttpExchange & { readonly ok: false }, id: string | null): void {
  const detail = sent.sent
    ? UPSTREAM_GONE
    : 'The tool server cannot be reached: nothing was sent to it. Try again, or ask its operator';
  refuse(res, refusalOf(502, detail, { idText: id ?? 'null' }));
}
