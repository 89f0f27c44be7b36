import type { IncomingMessage, ServerResponse } from 'node:http';
import { requesterId, type Requester } from '../../core/requester';
import type { Log } from '../../ledger/log';
import { completing, headerMismatch, SenderProfiles } from '../wire/stateless';
import type { StatelessSender } from '../wire/stateless';
import type { ClientMessage, Gate } from '../ports';
import { isGated } from '../wire/read-message';
import { EventResponse } from '../wire/event-response';
import { SESSION_REVISIONS } from './http-rules';
import { judgeCall } from '../wire/judge-call';
import type { StdioLimits } from './limits';
import { idText } from '../wire/raw-json';
import { INTERNAL_ERROR, SERVER_ERROR, errorText } from '../wire/refusal';
import type { Refusal } from '../wire/refusal';
import { objectOr } from '../wire/server-message';
import {
  StatelessCalls,
  answerForClient,
  noticeForClient,
  progressForClient,
  subscriptionOf,
  textForServer,
} from './stateless-calls';
import type { StatelessCall } from './stateless-calls';
import { StatelessProcess } from './stateless-process';
import type { OtherMessage, Readiness, StatelessProcessOptions } from './stateless-process';
import { statelessSession } from './stateless-session';

const HEADER_MISMATCH = -32020;
const UNSUPPORTED_VERSION = -32022;
/** What the protocol answers by HTTP as well, where the answer is no stream. */
const STATUSES: Readonly<Record<number, number>> = { [-32601]: 404, [-32020]: 400, [-32021]: 400, [-32022]: 400 };

export interface StatelessServerOptions extends Pick<
  StatelessProcessOptions,
  'server' | 'transport' | 'resolveSecret'
> {
  readonly gate: Gate;
  readonly log: Pick<Log, 'warn' | 'error'>;
  readonly limits: StdioLimits;
}

/** A message of a client that has no session. */
export interface StatelessMessage {
  readonly message: ClientMessage;
  readonly requester: Requester;
  readonly sender: StatelessSender;
}

/** Serves clients of 2026-07-28 and later at one shared process; what belongs to whom is kept apart by ids of our own. */
export class StatelessServer {
  private readonly options: StatelessServerOptions;
  private readonly process: StatelessProcess;
  private readonly gate: Gate;
  private readonly calls = new StatelessCalls();
  private readonly profiles = new SenderProfiles();
  private readonly signsOfLife: NodeJS.Timeout;
  private idle: NodeJS.Timeout | undefined;

  constructor(options: StatelessServerOptions) {
    const { server, transport, resolveSecret, log, limits } = options;
    this.options = options;
    this.gate = completing(options.gate);
    this.process = new StatelessProcess({
      ...{ server, transport, resolveSecret, log },
      take: (message, line) => this.receive(message, line),
      lost: (how) => this.lose(how),
    });
    this.signsOfLife = setInterval(() => this.keepAlive(), limits.keepAliveMs).unref();
  }

  /** Takes one message; the answer to a request goes into `res`. */
  async take(req: IncomingMessage, res: ServerResponse, from: StatelessMessage): Promise<Refusal | undefined> {
    const { message, requester, sender } = from;
    if (message.kind !== 'request') return this.notice(message, res);
    const { limits } = this.options;
    const mismatch = headerMismatch(req.headers, message, sender);
    if (mismatch !== null) {
      return { status: 400, code: HEADER_MISMATCH, message: `${mismatch}; the body decides, so they have to agree` };
    }
    if (this.calls.of(requester) >= limits.requestsInFlight) {
      const rule = `At most ${limits.requestsInFlight} requests are in flight at once; wait until one is answered`;
      return { status: 429, code: SERVER_ERROR, message: rule };
    }
    const call = this.callOf(res, from);
    clearTimeout(this.idle);
    call.response.onLeft(() => this.leave(call));
    await this.run(call);
    return undefined;
  }

  async close(): Promise<void> {
    clearInterval(this.signsOfLife);
    clearTimeout(this.idle);
    await this.process.close();
  }

  private async run(call: StatelessCall): Promise<void> {
    const readiness = await this.process.ready();
    if (readiness.kind !== 'ready') {
      this.done(call);
      const { text, status } = this.notReady(call, readiness);
      await call.response.answer(text, status);
      return;
    }
    call.response.openWithin(this.options.limits.jsonWindowMs);
    if (!isGated(call.message.method) || (await judgeCall(this.gate, call.session, { ...call, takesStream: true })))
      await this.send(call);
    else this.done(call);
  }

  private async send(call: StatelessCall): Promise<void> {
    if (call.cancel.signal.aborted) return;
    call.sent = true;
    if (this.process.write(textForServer(call))) return;
    this.done(call);
    const detail = 'NOT executed: the process of the server has ended, or does not read; try again';
    await call.response.answer(errorText(idText(call.message.text), SERVER_ERROR, detail));
  }

  private callOf(res: ServerResponse, { message, requester, sender }: StatelessMessage): StatelessCall {
    const profile = this.profiles.of(requester, sender);
    const ask = this.process.request.bind(this.process);
    return this.calls.add({
      message,
      response: new EventResponse({ res, headers: {} }),
      cancel: new AbortController(),
      session: statelessSession({ server: this.options.server, requester, sender, profile, ask }),
      requester: requesterId(requester),
      meta: sender.meta,
    });
  }

  /** To leave the response is to cancel (2026-07-28). */
  private leave(call: StatelessCall): void {
    call.cancel.abort();
    if (!this.done(call) || !call.sent) return;
    const params = { requestId: call.ownId, reason: 'The client has left', _meta: call.meta };
    this.process.write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }));
  }

  private receive(message: OtherMessage, line: string): void {
    if (message.kind === 'reply') {
      const call = this.calls.get(message.id);
      if (call !== undefined) void this.answer(call, line, objectOr(message.value['error'])['code']);
      return;
    }
    const { method, params } = message;
    const subscribed = this.calls.get(subscriptionOf(params));
    const progressing = method === 'notifications/progress' ? this.calls.get(params['progressToken']) : undefined;
    if (subscribed !== undefined) subscribed.response.event(noticeForClient(subscribed, line));
    else if (progressing !== undefined) progressing.response.event(progressForClient(progressing, line));
    else if (method === 'notifications/message') this.calls.onlyOneThatLogs()?.response.event(line);
  }

  private async answer(call: StatelessCall, line: string, code: unknown): Promise<void> {
    this.done(call);
    const answer = answerForClient(call, line);
    const { method } = call.message;
    const own = isGated(method) ? this.gate.showAnswer(answer) : answer;
    const shown = method === 'tools/list' ? await this.shownList(call, answer) : own;
    await call.response.answer(shown, typeof code === 'number' ? STATUSES[code] : undefined);
  }

  private async shownList({ session, message }: StatelessCall, answer: string): Promise<string> {
    try {
      return await this.gate.showList(session, answer);
    } catch (error) {
      this.options.log.error({ server: this.options.server, error: String(error) }, 'gateway.listFailed');
      const detail = 'The gateway failed while it read the list of tools; its log says why';
      return errorText(idText(message.text), INTERNAL_ERROR, detail);
    }
  }

  private notice({ method, text }: ClientMessage, res: ServerResponse): Refusal | undefined {
    // The ids of two clients may be the same, so a cancel by id says nothing here.
    if (method !== 'notifications/cancelled') this.process.write(text);
    res.writeHead(202).end();
    return undefined;
  }

  private lose(how: string): void {
    const rest = 'whether this request ran is not known';
    const detail = `The process of the server "${this.options.server}" ended (${how}) before it answered; ${rest}`;
    for (const call of this.calls.all().filter(({ sent }) => sent)) {
      this.done(call);
      void call.response.answer(errorText(idText(call.message.text), SERVER_ERROR, detail));
    }
  }

  private notReady({ message }: StatelessCall, readiness: Exclude<Readiness, { readonly kind: 'ready' }>) {
    const id = idText(message.text);
    if (readiness.kind === 'failed') {
      const detail = `The server "${this.options.server}" cannot be started: ${readiness.detail}`;
      return { text: errorText(id, SERVER_ERROR, detail), status: 200 };
    }
    const requested = objectOr(message.params['_meta'])['io.modelcontextprotocol/protocolVersion'];
    const error = {
      code: UNSUPPORTED_VERSION,
      message: 'This server needs a session: begin with initialize',
      data: { supported: SESSION_REVISIONS, requested },
    };
    return { text: `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`, status: 400 };
  }

  /** True where it was in flight. The process ends when it was idle for long enough. */
  private done(call: StatelessCall): boolean {
    const wasInFlight = this.calls.remove(call);
    clearTimeout(this.idle);
    if (this.calls.size === 0) this.idle = setTimeout(() => this.stopIfIdle(), this.options.limits.idleMs).unref();
    return wasInFlight;
  }

  private stopIfIdle(): void {
    if (this.calls.size === 0 && !this.process.isAsked) void this.process.stop();
  }

  private keepAlive(): void {
    for (const { response } of this.calls.all()) response.keepAlive();
  }
}
