import { isGated } from '../wire/read-message';
import type { ServerResponse } from 'node:http';
import type { Log } from '../../ledger/log';
import type { ClientMessage, ClientSession, Gate } from '../ports';
import type { CallsInFlight, ClientCall } from './calls-in-flight';
import { EventResponse } from '../wire/event-response';
import { judgeCall } from '../wire/judge-call';
import type { StdioLimits } from './limits';
import { idText } from '../wire/raw-json';
import { INTERNAL_ERROR, INVALID_REQUEST, SERVER_ERROR, errorText, refuse } from '../wire/refusal';
import { tokenOf } from '../wire/server-message';

export interface ClientRequestsOptions {
  readonly calls: CallsInFlight;
  readonly session: ClientSession;
  readonly gate: Gate;
  readonly limits: StdioLimits;
  readonly log: Pick<Log, 'error'>;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether an id is one of the gateway's own. */
  readonly isOwn: (id: string | number) => boolean;
  /** Hands a text to the server; false where it cannot take one any more. */
  readonly write: (message: string) => boolean;
  /** Called with the response of each request that was taken. */
  readonly taken: (response: EventResponse) => void;
}

/** The way of a client's requests: past the gate, to the server, and their answers back. */
export class ClientRequests {
  private readonly options: ClientRequestsOptions;

  constructor(options: ClientRequestsOptions) {
    this.options = options;
  }

  async take(message: ClientMessage, res: ServerResponse): Promise<void> {
    const { id } = message;
    const { calls, gate, session, limits, taken, headers } = this.options;
    if (id === null) return;
    const fault = this.faultOf(id);
    if (fault !== undefined) {
      refuse(res, { ...fault, idText: idText(message.text) });
      return;
    }
    const response = new EventResponse({ res, headers });
    const call: ClientCall = { id, message, response, cancel: new AbortController(), sent: false };
    calls.add(call);
    // To leave is to cancel only while nobody but the gate has seen the request.
    response.onLeft(() => call.cancel.abort());
    response.openWithin(limits.jsonWindowMs);
    taken(response);
    if (!isGated(message.method) || (await judgeCall(gate, session, { ...call, takesStream: true }))) this.send(call);
    else calls.remove(call);
  }

  /** The client does not want the answer any more. True where the server has to hear of it. */
  cancelled(notice: ClientMessage): boolean {
    const { calls, limits } = this.options;
    const id = tokenOf(notice.params['requestId']);
    const call = id === undefined ? undefined : calls.get(id);
    call?.cancel.abort();
    if (call?.sent !== true) return false;
    // A server need not answer what was cancelled; what it still answers in time is passed on.
    setTimeout(() => this.forget(call), limits.cancelledMs).unref();
    return true;
  }

  /** Takes the server's line that answers a call. */
  async answer(call: ClientCall, line: string): Promise<void> {
    this.options.calls.remove(call);
    const { method } = call.message;
    if (method === 'tools/list') await call.response.answer(await this.shownList(call, line));
    else await call.response.answer(isGated(method) ? this.options.gate.showAnswer(line) : line);
  }

  /** Answers every request that the server has seen with an error: its own answer cannot come any more. */
  lose(detail: string): void {
    const { calls } = this.options;
    for (const call of calls.all().filter(({ sent }) => sent)) {
      calls.remove(call);
      void call.response.answer(errorText(idText(call.message.text), SERVER_ERROR, detail));
    }
  }

  /** Ends what the gate still judges: its client has left. */
  leave(): void {
    for (const { cancel } of this.options.calls.all()) cancel.abort();
  }

  private send(call: ClientCall): void {
    const { calls, write } = this.options;
    call.sent = true;
    if (write(call.message.text)) return;
    calls.remove(call);
    const detail = 'NOT executed: the process of the server has ended, or does not read; initialise again';
    void call.response.answer(errorText(idText(call.message.text), SERVER_ERROR, detail));
  }

  private faultOf(id: string | number) {
    const { calls, limits, isOwn } = this.options;
    if (calls.has(id) || isOwn(id)) {
      const message = 'A request with this id is in flight already; give each request an id of its own';
      return { status: 400, code: INVALID_REQUEST, message } as const;
    }
    if (calls.size < limits.requestsInFlight) return undefined;
    const message = `At most ${limits.requestsInFlight} requests are in flight at once; wait until one is answered`;
    return { status: 429, code: SERVER_ERROR, message } as const;
  }

  private async shownList({ message }: ClientCall, line: string): Promise<string> {
    const { gate, session, log } = this.options;
    try {
      return await gate.showList(session, line);
    } catch (error) {
      log.error({ server: session.server, error: String(error) }, 'gateway.listFailed');
      const detail = 'The gateway failed while it read the list of tools; its log says why';
      return errorText(idText(message.text), INTERNAL_ERROR, detail);
    }
  }

  private forget(call: ClientCall): void {
    if (this.options.calls.get(call.id) !== call) return;
    this.options.calls.remove(call);
    call.response.end();
  }
}
