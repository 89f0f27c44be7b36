import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ResolveSecret } from '../../activities/secret-references';
import type { Requester } from '../../core/requester';
import type { Log } from '../../ledger/log';
import type { ClientMessage, Gate } from '../ports';
import { getFault, methodNotAllowed, postFault, sessionIdOf, sessionMissing, versionFault } from './http-rules';
import { STDIO_LIMITS } from './limits';
import type { StdioLimits } from './limits';
import { openSession } from './open-session';
import type { OpenSessionOptions } from './open-session';
import { readPost } from './read-post';
import { idText } from './raw-json';
import { INTERNAL_ERROR, INVALID_REQUEST, refuse, unknownSession } from './refusal';
import type { Refusal } from './refusal';
import type { StdioTransport } from './server-process';
import { SessionTable } from './session-table';
import { StartBackoff } from './start-backoff';
import type { StdioSession } from './stdio-session';

export interface StdioEndpointOptions {
  /** The name of the server in the policy. */
  readonly name: string;
  readonly transport: StdioTransport;
  readonly resolveSecret: ResolveSecret;
  readonly gate: Gate;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** Those that differ from `STDIO_LIMITS`. */
  readonly limits?: Partial<StdioLimits>;
}

/** Who a request comes from, as somebody else has found out. */
export interface Caller {
  readonly requester: Requester;
}

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
 * Speaks MCP's streamable HTTP (2025-03-26 to 2025-11-25) to clients, each with a session and a process of its own:
 * roots, log level and the list of tools depend on the client.
 */
export function createStdioEndpoint(options: StdioEndpointOptions): StdioEndpoint {
  return new SessionEndpoint(options);
}

class SessionEndpoint implements StdioEndpoint {
  private readonly table: SessionTable;
  private readonly opening: OpenSessionOptions;
  private readonly closing = new AbortController();
  private readonly living = new Set<StdioSession>();

  constructor({ name, transport, resolveSecret, gate, log, limits: given }: StdioEndpointOptions) {
    const limits = { ...STDIO_LIMITS, ...given };
    const { living, closing } = this;
    const table = (this.table = new SessionTable(limits));
    const backoff = new StartBackoff();
    const shared = { transport, resolveSecret, gate, log, limits, table, backoff, living };
    this.opening = { ...shared, server: name, closing: closing.signal };
  }

  async handle(req: IncomingMessage, res: ServerResponse, { requester }: Caller): Promise<void> {
    try {
      const refusal = await this.dispatch(req, res, requester);
      if (refusal !== undefined) refuse(res, refusal);
    } catch (error) {
      this.opening.log.error({ server: this.opening.server, error: String(error) }, 'gateway.stdioFailed');
      refuse(res, { status: 500, code: INTERNAL_ERROR, message: 'The gateway failed; its log says why' });
    }
  }

  async close(): Promise<void> {
    this.closing.abort();
    this.table.stopSweeping();
    await Promise.all([...this.living].map((session) => session.kill('the gateway is stopping')));
  }

  private async dispatch(
    req: IncomingMessage,
    res: ServerResponse,
    requester: Requester,
  ): Promise<Refusal | undefined> {
    if (this.closing.signal.aborted) {
      return { status: 503, code: INTERNAL_ERROR, message: 'The gateway is stopping; try again when it is back' };
    }
    switch (req.method) {
      case 'POST':
        return this.post(req, res, requester);
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

  private async post(req: IncomingMessage, res: ServerResponse, requester: Requester): Promise<Refusal | undefined> {
    const fault = postFault(req);
    if (fault !== undefined) return fault;
    const post = await readPost(req);
    if (post.kind === 'gone') return undefined;
    if (post.kind === 'refused') return post.refusal;
    const { message } = post;
    if (isInitialize(message) && sessionIdOf(req) === undefined) {
      await openSession(this.opening, { initialize: message, requester, res });
      return undefined;
    }
    const take = isInitialize(message) ? undefined : (session: StdioSession) => session.take(message, res);
    const refusal = await this.withSession(req, requester, take);
    return refusal && { ...refusal, idText: message.kind === 'request' ? idText(message.text) : 'null' };
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
