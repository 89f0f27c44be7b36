import { isGated } from '../wire/read-message';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ResolveSecret } from '../../activities/secret-references';
import type { Requester } from '../../core/requester';
import type { Log } from '../../ledger/log';
import type { Admitted } from '../edge/identify';
import type { ClientMessage, Gate } from '../ports';
import { getFault, methodNotAllowed, postFault, sessionIdOf, sessionMissing, versionFault } from './http-rules';
import { STDIO_LIMITS } from './limits';
import type { StdioLimits } from './limits';
import { statelessSender } from '../wire/stateless';
import { openSession } from './open-session';
import type { OpenSessionOptions, StartProcess } from './open-session';
import { readPost } from '../wire/read-body';
import { idText } from '../wire/raw-json';
import { INTERNAL_ERROR, INVALID_REQUEST, refuse, unknownSession } from '../wire/refusal';
import type { Refusal } from '../wire/refusal';
import { startServerProcess } from './server-process';
import type { StdioTransport } from './server-process';
import { SessionTable } from './session-table';
import { StartBackoff } from './start-backoff';
import { StatelessServer } from './stateless-server';
import type { StdioSession } from './stdio-session';

export interface SessionEndpointOptions {
  /** The name of the server in the policy. */
  readonly name: string;
  readonly start: StartProcess;
  readonly stateless: StatelessTaker;
  readonly gate: Gate;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** Those that differ from `STDIO_LIMITS`. */
  readonly limits?: Partial<StdioLimits>;
}

export interface StdioEndpointOptions extends Omit<SessionEndpointOptions, 'start' | 'stateless'> {
  readonly transport: StdioTransport;
  readonly resolveSecret: ResolveSecret;
}

/** Takes the messages of clients without sessions. */
export type StatelessTaker = Pick<StatelessServer, 'take' | 'close'>;

/** Who a request comes from, and whether they may call tools, as the edge has found out. */
export type Caller = Admitted;

/** The HTTP endpoint of one server that is a child process on stdio. */
export interface StdioEndpoint {
  /**
   * Takes an authenticated request for this server's address, whose Host and Origin are in order. Never rejects;
   * resolves when the request was taken, while its response may go on.
   */
  handle(req: IncomingMessage, res: ServerResponse, caller: Caller): Promise<void>;
  /** Ends every session and process, whatever is in flight. */
  close(): Promise<void>;
}

/**
 * Speaks MCP's streamable HTTP. Clients up to 2025-11-25 have each a session and a process of their own: roots, log
 * level and the list of tools depend on the client. From 2026-07-28 on a request says all that itself, and one process
 * serves all of them.
 */
export function createStdioEndpoint({ transport, resolveSecret, ...options }: StdioEndpointOptions): StdioEndpoint {
  const { name, gate, log } = options;
  const limits = { ...STDIO_LIMITS, ...options.limits };
  return new SessionEndpoint({
    ...options,
    start: () => startServerProcess(transport, resolveSecret),
    stateless: new StatelessServer({ server: name, transport, resolveSecret, gate, log, limits }),
  });
}

/** The same for what is no process, but speaks in lines as one does. */
export function createSessionEndpoint(options: SessionEndpointOptions): StdioEndpoint {
  return new SessionEndpoint(options);
}

class SessionEndpoint implements StdioEndpoint {
  private readonly table: SessionTable;
  private readonly opening: OpenSessionOptions;
  private readonly closing = new AbortController();
  private readonly living = new Set<StdioSession>();
  private readonly stateless: StatelessTaker;

  constructor({ name, start, stateless, gate, log, limits: given }: SessionEndpointOptions) {
    const limits = { ...STDIO_LIMITS, ...given };
    const { living, closing } = this;
    const table = (this.table = new SessionTable(limits));
    const backoff = new StartBackoff();
    this.opening = { server: name, start, gate, log, limits, table, backoff, living, closing: closing.signal };
    this.stateless = stateless;
  }

  async handle(req: IncomingMessage, res: ServerResponse, caller: Caller): Promise<void> {
    try {
      const refusal = await this.dispatch(req, res, caller);
      if (refusal !== undefined) refuse(res, refusal);
    } catch (error) {
      this.opening.log.error({ server: this.opening.server, error: String(error) }, 'gateway.stdioFailed');
      refuse(res, { status: 500, code: INTERNAL_ERROR, message: 'The gateway failed; its log says why' });
    }
  }

  async close(): Promise<void> {
    this.closing.abort();
    this.table.stopSweeping();
    const sessions = [...this.living].map((session) => session.kill('the gateway is stopping'));
    await Promise.all([...sessions, this.stateless.close()]);
  }

  private async dispatch(req: IncomingMessage, res: ServerResponse, caller: Caller): Promise<Refusal | undefined> {
    const { requester } = caller;
    if (this.closing.signal.aborted) {
      return { status: 503, code: INTERNAL_ERROR, message: 'The gateway is stopping; try again when it is back' };
    }
    switch (req.method) {
      case 'POST':
        return this.post(req, res, caller);
      case 'GET':
        return getFault(req) ?? this.withSession(req, requester, (session) => session.listen(res));
      case 'DELETE':
        return this.withSession(req, requester, (session) => {
          session.close('its client ended it');
          res.writeHead(200).end();
        });
      default:
        return methodNotAllowed();
    }
  }

  private async post(req: IncomingMessage, res: ServerResponse, caller: Caller): Promise<Refusal | undefined> {
    const fault = postFault(req);
    if (fault !== undefined) return fault;
    const post = await readPost(req);
    if (!post.ok) return post.refusal;
    const { message } = post;
    const refusal =
      isGated(message.method) && !caller.mayCall
        ? caller.challenge
        : await this.message(req, res, { message, requester: caller.requester });
    return refusal && { ...refusal, idText: message.kind === 'request' ? idText(message.text) : 'null' };
  }

  private async message(
    req: IncomingMessage,
    res: ServerResponse,
    { message, requester }: { readonly message: ClientMessage; readonly requester: Requester },
  ): Promise<Refusal | undefined> {
    const sender = message.kind === 'reply' ? null : statelessSender(message);
    if (sender !== null) return this.stateless.take(req, res, { message, requester, sender });
    if (!isInitialize(message)) return this.withSession(req, requester, (session) => session.take(message, res));
    if (sessionIdOf(req) !== undefined) return this.withSession(req, requester, undefined);
    await openSession(this.opening, { initialize: message, requester, res });
    return undefined;
  }

  /** Uses the session that a request names; without `use` it may not name one. */
  private async withSession(
    req: IncomingMessage,
    requester: Requester,
    use: ((session: StdioSession) => unknown) | undefined,
  ): Promise<Refusal | undefined> {
    const id = sessionIdOf(req);
    if (id === undefined) return sessionMissing();
    const session = this.table.find(id, requester);
    if (session === undefined) return unknownSession();
    const fault = versionFault(req, session.revision);
    if (fault !== undefined) return fault;
    if (use === undefined) {
      return { status: 400, code: INVALID_REQUEST, message: 'This session is initialised already' };
    }
    await use(session);
    return undefined;
  }
}

function isInitialize(message: ClientMessage): message is ClientMessage & { readonly id: string | number } {
  return message.kind === 'request' && message.method === 'initialize';
}
