import type { ServerResponse } from 'node:http';
import type { Gate } from '../ports';
import { completing } from '../wire/stateless';
import { refuse, unknownSession } from '../wire/refusal';
import type { HttpSession } from './http-session';

interface Judging {
  readonly gate: Gate;
  readonly session: HttpSession;
  /** True where the request is of a revision without sessions. */
  readonly isStateless: boolean;
}

/** The gate as one request needs it. */
export function gateFor(res: ServerResponse, { gate, session, isStateless }: Judging): Gate {
  const seen = isStateless ? completing(gate) : gate;
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
