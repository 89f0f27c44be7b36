import type { Activities } from '../../activities';
import type { Dependencies } from '../../activities/dependencies';
import { openRequests, type OpenInput } from '../../activities/open-requests';
import { runTool, type Ran, type RunInput } from '../../activities/run-tool';
import { whileBeating } from '../../activities/while-beating';
import { withResultInStateUpTo } from '../../core/call-state';
import { operationId } from '../../core/digest';
import { canonicalJson, isJsonObject } from '../../core/json';
import { memberOf } from '../../core/member';
import type { Hold } from './hold';
import type { Holds } from './holds';
import { sessionContext } from './session-context';
import type { SessionTools } from './session-tools';
import { tracing } from './trace-context';

interface GatewayActivitiesOptions {
  readonly deps: Dependencies;
  readonly holds: Holds;
  readonly tools: SessionTools;
}

/**
 * The activities of a gateway's own task queue: what a client's call needs of that client's own session. Both are safe to
 * run twice, as those of the worker are.
 */
export function createGatewayActivities(
  options: GatewayActivitiesOptions,
): Pick<Activities, 'openRequests' | 'runTool'> {
  return {
    openRequests: (input) => whileBeating(() => openRequests(depsOf(options, holdOf(options, input)), input)),
    runTool: (input) =>
      whileBeating(async () => {
        const ran = await run(options, input);
        return { ...ran, state: withResultInStateUpTo(ran.state, input.resultBytes) };
      }),
  };
}

const NOBODY: Ran = { state: { status: 'allowed', revision: 0 }, unrecorded: null, nobodyThere: true };

/** Runs the call while somebody holds it here, on a session as it was when the call was proposed. */
async function run(options: GatewayActivitiesOptions, input: RunInput): Promise<Ran> {
  const { holds } = options;
  const isCollected = (): boolean => {
    const hold = holds.get(idOf(input));
    const held = hold !== undefined && isHeld(hold, input);
    // In the same step: whoever comes after it tells the turn anew.
    if (!held) holds.forgetCollected(idOf(input));
    return held;
  };
  const hold = holds.get(idOf(input));
  if (!isCollected() || hold === undefined) return NOBODY;
  const deps = depsOf(options, hold);
  const listedSinceMs = hold.allowedSinceMs;
  hold.allowedSinceMs = undefined;
  try {
    const ran = await runTool(deps, input, { listedSinceMs, isCollected });
    hold.running = false;
    if (ran.nobodyThere !== true) hold.tell(ran.state);
    return ran;
  } finally {
    hold.running = false;
  }
}

/** Somebody is there, and the session is still the one that is bound: roots decide what a tool may touch. */
function isHeld({ session }: Hold, { call }: RunInput): boolean {
  if (session === null) return false;
  const bound = call.context?.session;
  if (bound === undefined || !isJsonObject(bound)) return true;
  return canonicalJson(bound) === canonicalJson({ ...bound, ...sessionContext(session) });
}

function depsOf({ deps, tools }: GatewayActivitiesOptions, hold: Hold | undefined): Dependencies {
  const session = hold?.session ?? null;
  if (hold === undefined || session === null) return deps;
  return {
    ...deps,
    servers: tracing(tools.serversFor(session, deps.servers), hold.caller?.trace ?? {}),
    onStep: async (step, id) => {
      if (step === 'afterTransaction') hold.running = hold.isSent = true;
      await deps.onStep?.(step, id);
    },
  };
}

function idOf({ turn, call }: Pick<RunInput, 'turn' | 'call'>): string {
  return operationId({ requesterSubject: turn.requester.subject, turnId: turn.turnId, callId: call.id });
}

/** The hold of a turn of one call; the turn is parsed by the activity itself. */
function holdOf({ holds }: GatewayActivitiesOptions, { turn }: OpenInput): Hold | undefined {
  const [subject, turnId] = [memberOf(memberOf(turn, 'requester'), 'subject'), memberOf(turn, 'turnId')];
  const callId = memberOf(memberOf(memberOf(turn, 'calls'), '0'), 'id');
  if (typeof subject !== 'string' || typeof turnId !== 'string' || typeof callId !== 'string') return undefined;
  return holds.get(operationId({ requesterSubject: subject, turnId, callId }));
}
