import type { JsonObject } from '../../core/json';
import type { Policy } from '../../core/policy';
import { serverOf } from '../../core/policy-lookup';
import type { CallContext } from '../../core/turn';
import type { ClientSession } from '../ports';
import type { ToolCallParams } from './tool-call';

/** What is bound of a client's own session: a stateful server allows one session what it refuses another. */
export function sessionContext({ roots }: ClientSession): JsonObject {
  return { kind: 'client', roots };
}

/** What a call carries beside its arguments; undefined where there is nothing. */
export function callContext(
  policy: Policy,
  session: ClientSession,
  { retry, checkpoint }: Pick<ToolCallParams, 'retry' | 'checkpoint'>,
): CallContext | undefined {
  const runsOnSession = serverOf(policy, session.server)?.session === 'client';
  const bound = {
    ...(runsOnSession && sessionContext(session)),
    ...(retry !== null && { retry }),
  };
  if (Object.keys(bound).length === 0 && checkpoint === undefined) return undefined;
  return {
    ...(Object.keys(bound).length > 0 && { session: bound }),
    ...(checkpoint !== undefined && { checkpoint }),
  };
}
