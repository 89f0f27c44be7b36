import { RPC_ERROR, answerToServer } from '../../activities/rpc';
import { showText } from '../../core/display';
import type { JsonObject } from '../../core/json';
import type { Log } from '../../ledger/log';
import type { CallsInFlight, ClientCall } from './calls-in-flight';
import type { OwnRequests } from './own-requests';
import type { Questions } from './questions';
import { errorText } from '../wire/refusal';
import { readServerMessage, tokenOf } from '../wire/server-message';
import type { ServerMessage } from '../wire/server-message';
import type { StandingStreams } from './standing-streams';

export interface ServerLinesOptions {
  readonly calls: CallsInFlight;
  readonly own: OwnRequests;
  readonly questions: Questions;
  readonly standing: StandingStreams;
  readonly server: string;
  /** Whether the client said in `initialize` that it has roots. */
  readonly declaresRoots: boolean;
  readonly log: Pick<Log, 'warn'>;
  readonly write: (message: string) => boolean;
  /** Takes the server's answer to a client's request. */
  readonly answer: (call: ClientCall, line: string) => void;
}

type Greeted = (line: string, value: JsonObject) => void;
type ServerRequest = ServerMessage & { readonly kind: 'request' };

/** Says for each line of a server which stream of the client it goes to, and answers what is not for the client. */
export class ServerLines {
  private readonly to: ServerLinesOptions;
  /** Set while `initialize` is not answered: a client has no stream yet, and nothing to say but that. */
  greeting: { readonly id: string | number; readonly take: Greeted } | undefined;

  constructor(options: ServerLinesOptions) {
    this.to = options;
  }

  route(line: string): void {
    const message = readServerMessage(line);
    if (message.kind === 'reply') this.reply(message, line);
    if (message.kind === 'request') this.request(message, line);
    if (message.kind === 'notification') this.notification(message, line);
  }

  private reply({ id, value }: ServerMessage & { readonly kind: 'reply' }, line: string): void {
    const { own, calls, greeting, answer, log, server } = { ...this.to, greeting: this.greeting };
    const token = tokenOf(id);
    const call = token === undefined ? undefined : calls.answeredBy(token);
    if (own.owns(id)) own.take(id, value);
    else if (greeting !== undefined && token === greeting.id) greeting.take(line, value);
    else if (call !== undefined) answer(call, line);
    else log.warn({ server }, 'gateway.answerToNobody');
  }

  private request(request: ServerRequest, line: string): void {
    const { questions } = this.to;
    if (this.isForUs(request)) this.answerIt(request);
    else if (!questions.ask(request.id, request.method)) this.refuse(request);
    else if (!this.pass(line)) {
      questions.withdraw(request.id);
      this.refuse(request);
    }
  }

  /**
   * Nothing that nobody approved may enter an approved call, and stdio does not tell which call a question belongs to:
   * so none gets to the client while such a call runs, nor while everything that runs is the gateway's own.
   */
  private isForUs({ method }: ServerRequest): boolean {
    const { own, calls, declaresRoots } = this.to;
    if (this.greeting !== undefined) return true;
    if (method === 'roots/list' && declaresRoots) return false;
    return own.hasEffect || (own.size > 0 && !calls.anySent);
  }

  private answerIt(request: ServerRequest): void {
    this.to.write(JSON.stringify(answerToServer(request)));
  }

  private refuse({ id }: ServerRequest): void {
    const detail = 'The client is not there to answer, and too much waits for it already';
    this.to.write(errorText(JSON.stringify(id), RPC_ERROR.invalidRequest, detail));
  }

  private notification({ method, params }: ServerMessage & { readonly kind: 'notification' }, line: string): void {
    const { questions, log, server } = this.to;
    const withdrawn = method === 'notifications/cancelled' ? tokenOf(params['requestId']) : undefined;
    if (method === 'notifications/progress') this.progress(tokenOf(params['progressToken']), line);
    // The client never saw a question that was answered for it.
    else if (withdrawn !== undefined && !questions.withdraw(withdrawn)) return;
    else if (!this.pass(line)) log.warn({ server, method: showText(method) }, 'gateway.notificationDropped');
  }

  private progress(token: string | number | undefined, line: string): void {
    const call = token === undefined ? undefined : this.to.calls.withProgressToken(token);
    if (call === undefined) {
      // A task goes on after its request was answered, and its progress with it.
      this.pass(line);
    } else call.response.event(line);
  }

  /** To the newest request in flight, so that the order of the server's lines is kept; else to a standing stream. */
  private pass(line: string): boolean {
    const { calls, standing } = this.to;
    const newest = this.greeting === undefined ? calls.newestOpen() : undefined;
    newest?.response.event(line);
    return newest !== undefined || standing.send(line) || standing.keep(line);
  }
}
