import type { ServerResponse } from 'node:http';
import type { Gate } from '../ports';
import { refuse, unknownSession } from '../stdio/refusal';
import type { HttpSession } from './http-session';

interface Judging {
  readonly gate: Gate;
  readonly session: HttpSession;
  /** True where the request is of a revision without sessions. */
  readonly isStateless: boolean;
}

/** The gate as one request needs it. */
export function gateFor(res: ServerResponse, { gate, session, isStateless }: Judging): Gate {
  const seen = isStateless ? asStateless(gate) : gate;
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
