import type { ServerResponse } from 'node:http';
import type { RpcReply, RpcRequest } from '../../activities/rpc';
import { showText } from '../../core/display';
import type { JsonObject, JsonValue } from '../../core/json';
import type { Requester } from '../../core/requester';
import type { Log } from '../../ledger/log';
import type { ClientMessage, ClientSession, Gate } from '../ports';
import { CallsInFlight } from './calls-in-flight';
import { ClientRequests } from './client-requests';
import { EventResponse } from '../wire/event-response';
import type { StdioLimits } from './limits';
import { OwnRequests } from './own-requests';
import { Questions } from './questions';
import { ServerLines } from './server-lines';
import { objectOr } from '../wire/server-message';
import { MAX_LINE_BYTES } from './server-process';
import type { ProcessListener, ServerProcess } from './server-process';
import { StandingStreams } from './standing-streams';

export interface StdioSessionOptions {
  readonly id: string;
  readonly server: string;
  readonly requester: Requester;
  readonly process: ServerProcess;
  /** The client's own `initialize`, with its id. */
  readonly initialize: ClientMessage & { readonly id: string | number };
  readonly gate: Gate;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  readonly limits: StdioLimits;
  /** Called once, when the client can use it no more. */
  readonly onEnd: (session: StdioSession) => void;
  /** Called once, when its process has ended. */
  readonly onDead: (session: StdioSession) => void;
}

/** What a server made of `initialize`: the line that it answered with, or why there is none. */
export type Greeting =
  | { readonly ok: true; readonly line: string; readonly agreed: boolean }
  | { readonly ok: false; readonly detail: string };

/**
 * One client's session with a process of its own. Texts pass as they are in both directions; only whose they are is
 * found out. What the gateway asks on the session is kept apart from what the client does.
 */
export class StdioSession implements ClientSession, ProcessListener {
  readonly id: string;
  readonly server: string;
  readonly requester: Requester;
  readonly clientName: string | null;
  revision: string | null = null;
  lastUsedMs = performance.now();
  private readonly options: StdioSessionOptions;
  private readonly calls = new CallsInFlight();
  private readonly standing: StandingStreams;
  private readonly questions: Questions;
  private readonly own: OwnRequests;
  private readonly requests: ClientRequests;
  private readonly lines: ServerLines;
  private readonly signsOfLife: NodeJS.Timeout;
  private noGreeting: ((how: string) => void) | undefined;
  private over = false;

  constructor(options: StdioSessionOptions) {
    const { process, initialize, limits, server, log, gate } = options;
    this.options = options;
    this.id = options.id;
    this.server = server;
    this.requester = options.requester;
    const name = objectOr(initialize.params['clientInfo'])['name'];
    this.clientName = typeof name === 'string' ? name : null;
    const { calls } = this;
    const write = (message: string): boolean => process.write(message);
    const standing = (this.standing = new StandingStreams(limits.keptMessages));
    const questions = (this.questions = new Questions(limits.keptMessages));
    const own = (this.own = new OwnRequests(write, () => this.endProcess()));
    const requests = (this.requests = new ClientRequests({
      ...{ calls, session: this, gate, limits, log, write },
      headers: this.headers,
      isOwn: (id) => own.owns(id),
      taken: (response) => {
        if (!standing.anyOpen) standing.flushTo(response);
      },
    }));
    this.lines = new ServerLines({
      ...{ calls, own, questions, standing, server, log, write },
      declaresRoots: objectOr(initialize.params['capabilities'])['roots'] !== undefined,
      answer: (call, line) => void requests.answer(call, line).then(() => this.used()),
    });
    this.signsOfLife = setInterval(() => this.keepAlive(), limits.keepAliveMs).unref();
    process.listen(this);
  }

  get roots(): JsonValue {
    return this.questions.roots;
  }

  /** What tells the client its session, on every response. */
  get headers(): Readonly<Record<string, string>> {
    return { 'Mcp-Session-Id': this.id };
  }

  /** True where nothing is in flight and the client holds no stream open. */
  get isIdle(): boolean {
    return this.calls.size === 0 && this.own.size === 0 && !this.standing.anyOpen;
  }

  async request(request: RpcRequest): Promise<RpcReply> {
    if (this.over) return { kind: 'notDispatched', detail: 'the session of the client has ended' };
    const reply = await this.own.request(request);
    this.used();
    return reply;
  }

  /** Passes the client's `initialize` on, and waits for the line that answers it. */
  greet(): Promise<Greeting> {
    const { initialize, process, limits } = this.options;
    return new Promise((resolve) => {
      const done = (greeting: Greeting): void => {
        clearTimeout(timer);
        this.lines.greeting = undefined;
        resolve(greeting);
      };
      const fail = (detail: string): void => done({ ok: false, detail });
      const timer = setTimeout(() => fail(`it did not answer within ${limits.handshakeMs} ms`), limits.handshakeMs);
      this.noGreeting = (how) => fail(`its process ended (${how}); the log of the gateway has what it said last`);
      this.lines.greeting = { id: initialize.id, take: (line, value) => done(this.agreeOn(line, value)) };
      if (!process.write(initialize.text)) this.noGreeting('at once');
    });
  }

  /** Takes one message of the client. The answer to a request goes into `res`, of other messages a 202. */
  async take(message: ClientMessage, res: ServerResponse): Promise<void> {
    this.used();
    if (message.kind === 'request') {
      await this.requests.take(message, res);
      this.used();
      return;
    }
    if (this.goesOn(message)) this.options.process.write(message.text);
    res.writeHead(202, this.headers).end();
  }

  /** Opens a stream for what belongs to no request. */
  listen(res: ServerResponse): void {
    this.used();
    const stream = new EventResponse({ res, headers: this.headers });
    stream.onLeft(() => this.used());
    this.standing.add(stream);
  }

  /**
   * Ends the session for its client at once. Its process lives on until what the gateway itself has asked is answered:
   * a client that leaves must not make the outcome of an approved call unknown.
   */
  close(why: string): void {
    if (!this.finish()) return;
    this.requests.leave();
    this.requests.lose(`The session has ended (${why}); whether this request ran is not known`);
    this.endProcess();
  }

  /** Ends the process, whatever is in flight. */
  async kill(why: string): Promise<void> {
    this.close(why);
    await this.options.process.close();
  }

  line(line: string | undefined): void {
    if (line !== undefined) {
      this.lines.route(line);
      return;
    }
    const { log } = this.options;
    log.warn({ server: this.server, maxBytes: MAX_LINE_BYTES }, 'gateway.lineTooLong');
    const [only, another] = this.calls.all().filter(({ sent }) => sent);
    // Whose answer it was can be said only where there is one call; others find out by their time.
    if (only === undefined || another !== undefined || this.own.size > 0) return;
    this.requests.lose(`The answer of the server is longer than ${MAX_LINE_BYTES} bytes`);
  }

  ended(how: string): void {
    const { log, process } = this.options;
    const wasOver = !this.finish();
    this.noGreeting?.(how);
    this.options.onDead(this);
    this.own.lose(`the process of the server ended (${how})`);
    if (wasOver) return;
    log.warn({ server: this.server, how, stderr: showText(process.stderr) }, 'gateway.serverEnded');
    const rest = 'whether this request ran is not known. Initialise again to go on';
    this.requests.lose(`The process of the server "${this.server}" ended (${how}) before it answered; ${rest}`);
    void process.close();
  }

  /** False where it had ended before. */
  private finish(): boolean {
    if (this.over) return false;
    this.over = true;
    clearInterval(this.signsOfLife);
    this.standing.end();
    this.options.onEnd(this);
    return true;
  }

  private agreeOn(line: string, answer: JsonObject): Greeting {
    const version = objectOr(answer['result'])['protocolVersion'];
    this.revision = typeof version === 'string' ? version : null;
    return { ok: true, line, agreed: answer['result'] !== undefined };
  }

  private goesOn(message: ClientMessage): boolean {
    if (message.kind === 'reply') return this.questions.answer(message);
    return message.method !== 'notifications/cancelled' || this.requests.cancelled(message);
  }

  private used(): void {
    this.lastUsedMs = performance.now();
  }

  private endProcess(): void {
    if (this.over && this.own.size === 0) void this.options.process.close();
  }

  private keepAlive(): void {
    this.standing.keepAlive();
    for (const { response } of this.calls.all()) response.keepAlive();
  }
}
