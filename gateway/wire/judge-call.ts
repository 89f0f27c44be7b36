import type { JsonObject } from '../../core/json';
import type { ClientMessage, ClientSession, Gate, GateAnswer } from '../ports';
import type { EventResponse } from './event-response';
import { idText } from './raw-json';
import { INTERNAL_ERROR, errorText, resultText } from './refusal';
import { tracePlace } from '../../tracing/trace-place';

/** A call as far as the gate and its answer need it. */
export interface JudgedCall {
  readonly message: ClientMessage;
  readonly response: EventResponse;
  readonly cancel: AbortController;
  /** Whether the client takes a stream of events in place of one answer. */
  readonly takesStream: boolean;
}

/** Lets the gate judge a call, and answers it where the gate does. True where the call goes on to the server. */
export async function judgeCall(gate: Gate, session: ClientSession, call: JudgedCall): Promise<boolean> {
  const { message, response } = call;
  const { signal } = call.cancel;
  const answer = await judged(gate, session, call);
  if (signal.aborted) {
    // A request that its client has cancelled gets no answer.
    response.end();
    return false;
  }
  if (answer.kind === 'pass') return true;
  const id = idText(message.text);
  if (answer.kind === 'error') {
    await response.answer(errorText(id, answer.error.code, answer.error.message));
  } else if (await response.answer(resultText(id, answer.result))) {
    answer.delivered();
  }
  return false;
}

async function judged(gate: Gate, session: ClientSession, call: JudgedCall): Promise<GateAnswer> {
  const { message, cancel, response, takesStream } = call;
  const notify = (method: string, params: JsonObject): void =>
    response.event(JSON.stringify({ jsonrpc: '2.0', method, params }));
  try {
    const trace = tracePlace(response.requestHeaders);
    return await gate.judge({ session, message, signal: cancel.signal, trace, ...(takesStream && { notify }) });
  } catch {
    const text = 'NOT executed: the gateway failed while it judged this call; its log says why';
    return { kind: 'error', error: { code: INTERNAL_ERROR, message: text } };
  }
}
