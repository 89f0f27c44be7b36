import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Gate, IncomingCall } from '../ports';
import type { EventResponse } from '../stdio/event-response';
import { refuse, unknownSession } from '../stdio/refusal';
import type { HttpSession } from './http-session';

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

interface Judging {
  readonly gate: Gate;
  readonly session: HttpSession;
  readonly response: EventResponse;
  /** True where the request is of a revision without sessions. */
  readonly isStateless: boolean;
}

/** The gate as one request needs it. */
export function gateFor({ req, res }: Exchange, { gate, session, response, isStateless }: Judging): Gate {
  const seen = withNotices(isStateless ? asStateless(gate) : gate, req, response);
  return {
    ...seen,
    judge: async (call) => {
      const answer = await seen.judge(call);
      // Its client recovers from 404 alone.
      if (session.isGone) refuse(res, unknownSession());
      return answer;
    },
  };
}

/** Every result of a stateless revision says what kind it is. */
function asStateless(gate: Gate): Gate {
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
function withNotices(gate: Gate, { headers }: IncomingMessage, response: EventResponse): Gate {
  if (headers.accept?.includes('text/event-stream') !== true) return gate;
  const notify: IncomingCall['notify'] = (method, params) =>
    response.event(JSON.stringify({ jsonrpc: '2.0', method, params }));
  return { ...gate, judge: (call) => gate.judge({ ...call, notify }) };
}
