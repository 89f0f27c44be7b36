import type { IncomingMessage } from 'node:http';
import type { Gate, IncomingCall } from '../ports';
import type { EventResponse } from '../stdio/event-response';

/** Every result of a stateless revision says what kind it is. */
export function asStateless(gate: Gate): Gate {
  return {
    ...gate,
    judge: async (call) => {
      const answer = await gate.judge(call);
      if (answer.kind !== 'result') return answer;
      return { ...answer, result: { resultType: 'complete', ...answer.result } };
    },
  };
}

/** Lets the gate write notifications before its answer, where the client takes a stream. */
export function withNotices(gate: Gate, { headers }: IncomingMessage, response: EventResponse): Gate {
  if (headers.accept?.includes('text/event-stream') !== true) return gate;
  const notify: IncomingCall['notify'] = (method, params) =>
    response.event(JSON.stringify({ jsonrpc: '2.0', method, params }));
  return { ...gate, judge: (call) => gate.judge({ ...call, notify }) };
}
