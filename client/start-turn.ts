import {
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  type Client,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { canonicalJson, checkJsonValue, isJsonObject } from '../core/json';
import { jsonOf } from '../core/json-record';
import type { Requester } from '../core/requester';
import { turnDigest, turnWorkflowId, type ProposedCall, type TurnInput } from '../core/turn';
import { parseTurn } from '../core/turn-schema';
import type { PackedSnapshot, TurnResult } from '../core/turn-packing';
import { AGENT_TURN, openedUpdate } from '../workflows/messages';
import { startAttributes } from '../workflows/search-attributes';
import { bounded } from './bounded';
import { holdpointError, HoldpointError } from './errors';

/** A turn as a runtime proposes it; `requester.chain` may be left out where the agent acts for the person directly. */
export interface TurnStart {
  readonly id: string;
  readonly requester: Omit<Requester, 'chain'> & { readonly chain?: readonly string[] };
  readonly calls: readonly (Omit<ProposedCall, 'arguments'> & { readonly arguments: unknown })[];
}

/** Temporal refuses a start over 2 MB; the rest of the message needs some of it. */
const TURN_BYTES = 1_900_000;

export type StartOptions = WorkflowStartOptions & { workflowIdConflictPolicy: 'USE_EXISTING' };

/**
 * Starts a turn, or attaches to it: the same id with the same content is the same turn, with other content the error
 * TURN_CONFLICT. Answers once every call is on record; null where no worker answered in time, and then the
 * turn is started all the same and goes on when one is up.
 */
export async function startTurn(client: Client, start: TurnStart, taskQueue: string): Promise<PackedSnapshot | null> {
  const turn = inputOf(start);
  const options = startOptions(turn, taskQueue);
  try {
    return await open(client, turn, options);
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return attach(client, turn, options);
  }
}

/** @param more further arguments of the workflow, which are no part of the turn's content. */
export function startOptions(turn: TurnInput, taskQueue: string, more: readonly unknown[] = []): StartOptions {
  return {
    workflowId: turnWorkflowId(turn.requester.subject, turn.turnId),
    taskQueue,
    args: [turn, ...more],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    typedSearchAttributes: startAttributes(turn),
    staticSummary: summaryOf(turn),
  };
}

/** The turn as its workflow gets it. Throws TURN_INVALID before anybody is asked. */
export function inputOf(start: TurnStart, more: Pick<TurnInput, 'collected'> = {}): TurnInput {
  const { subject, agent, chain = [] } = start.requester;
  const requester = { subject, agent, chain };
  const parsed = parseTurn({ v: 1, turnId: start.id, requester, calls: start.calls, ...more });
  if (!parsed.ok) throw new HoldpointError(parsed.refusal.code, parsed.refusal.detail);
  const calls = parsed.turn.calls.map((call) => {
    const checked = checkJsonValue(call.arguments, { maxBytes: TURN_BYTES });
    if (!checked.ok) throw holdpointError('TURN_INVALID', { detail: `call ${call.id}: ${checked.detail}` });
    // Anything but an object goes to the worker as it is, where the call refuses itself.
    return { ...call, arguments: isJsonObject(checked.value) ? checked.value : call.arguments };
  });
  const turn = { ...parsed.turn, calls };
  const bytes = Buffer.byteLength(canonicalJson(jsonOf(turn)));
  if (bytes > TURN_BYTES)
    throw holdpointError('TURN_INVALID', { detail: `${bytes} bytes, a turn has at most ${TURN_BYTES}` });
  return turn;
}

async function open(client: Client, turn: TurnInput, options: StartOptions): Promise<PackedSnapshot | null> {
  const startWorkflowOperation = startOperation(options);
  const answer = await bounded(client, () =>
    client.workflow.executeUpdateWithStart(openedUpdate, { startWorkflowOperation }),
  );
  if (answer.kind === 'answer') return matching(turn, answer.value);
  const started = await bounded(client, () => client.workflow.start(AGENT_TURN, options));
  if (started.kind === 'answer') return null;
  throw holdpointError('TEMPORAL_UNREACHABLE', { detail: String(started.cause) }, started.cause);
}

export function startOperation(options: StartOptions) {
  const operation = new WithStartWorkflowOperation(AGENT_TURN, options);
  // Its own rejection repeats that of the update.
  operation.workflowHandle().catch(() => undefined);
  return operation;
}

function matching<T extends { readonly contentDigest: string }>(turn: TurnInput, found: T): T {
  if (found.contentDigest === turnDigest(turn)) return found;
  throw holdpointError('TURN_CONFLICT', { turn: turn.turnId });
}

/** A turn that has ended keeps its results. One that was cut off, or whose outcome was unknown, reads its rows again. */
async function attach(client: Client, turn: TurnInput, options: StartOptions): Promise<PackedSnapshot | null> {
  const handle = client.workflow.getHandle<() => Promise<TurnResult>>(options.workflowId);
  // Bounded: another runtime may have taken the turn up meanwhile, and then it is not over.
  const answer = await bounded(client, () => handle.result()).catch(notEnded);
  const ended = answer?.kind === 'answer' ? matching(turn, answer.value) : null;
  const settled = ended?.results.every((result) => result.end.outcome !== 'unknown') ?? false;
  if (settled) return null;
  return open(client, turn, { ...options, workflowIdReusePolicy: 'ALLOW_DUPLICATE' });
}

/** The turn was cut off; anything else is an error of the caller. */
function notEnded(error: unknown): null {
  if (error instanceof WorkflowFailedError) return null;
  throw error;
}

function summaryOf(turn: TurnInput): string {
  const calls = turn.calls.map((call) => `${call.server}/${call.tool}`).join(', ');
  return `${turn.requester.subject}: ${calls}`.replace(/[^\x20-\x7e]/g, '?').slice(0, 200);
}
