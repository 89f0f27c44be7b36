import { withResultInStateUpTo, type CallState } from '../core/call-state';
import type { OpeningCause } from '../core/request';
import { parseTurn } from '../core/turn-schema';
import { refusal, type Refusal } from '../core/errors';
import { canonicalJson, type JsonValue } from '../core/json';
import { jsonOf } from '../core/json-record';
import { resultShare, TURN_LIMITS, turnDigest } from '../core/turn';
import type { Opening, RequestDraft } from '../ledger/commands/open-call';
import type { Dependencies } from './dependencies';
import { hideInText, hideSecrets } from './masking';
import { OPENING_PATIENCE_MS, patientServers } from './patient-servers';
import { prepareCall, type PreparedCall, type ReadyCall, type TurnRef } from './prepare-call';
import { readTool } from './read-tool';

export interface OpenInput {
  readonly workflowId: string;
  /** The turn as the workflow got it: parsed here, since anybody in the namespace may start one. */
  readonly turn: unknown;
}

export type OpenedTurn =
  { readonly ok: true; readonly states: readonly CallState[] } | { readonly ok: false; readonly refusal: Refusal };

const NO_DIGEST = 'it holds what has no canonical JSON, such as half a character; send whole texts and finite numbers';

/** What a card is made from may be this old: what changed meanwhile is found right before the effect. */
const LISTING_AGE_MS = 1_000;

/** How often a plan is made anew because another policy became active meanwhile. */
const MOST_PLANS = 5;

/** Puts every call of a turn on record in one transaction. Safe to run again: what is on record answers its state. */
export async function openRequests(deps: Dependencies, { workflowId, turn: input }: OpenInput): Promise<OpenedTurn> {
  const parsed = parseTurn(input);
  if (!parsed.ok) return parsed;
  // A turn without a digest shows none of its calls, so none of them may be asked about.
  if (turnDigest(input) === 'none') return { ok: false, refusal: refusal('TURN_INVALID', { detail: NO_DIGEST }) };
  const turn: TurnRef = { turnId: parsed.turn.turnId, requester: parsed.turn.requester, workflowId };
  for (let plan = 0; plan < MOST_PLANS; plan += 1) {
    const active = await deps.ledger.activePolicy();
    const patient = { ...deps, servers: patientServers(deps.servers, OPENING_PATIENCE_MS) };
    const listedSinceMs = performance.now() - (deps.listingAgeMs ?? LISTING_AGE_MS);
    const prepared = await Promise.all(
      parsed.turn.calls.map((call) => prepareCall(patient, { turn, call, active, listedSinceMs })),
    );
    const openings = await Promise.all(prepared.map((call) => openingOf(deps, call, 'first')));
    const withPolicy = withRoomForCards(openings).map((opening) => ({ ...opening, active }));
    const opened = await deps.ledger.openCalls(withPolicy);
    const states = opened.flatMap((each) => (each.kind === 'state' ? [each.state] : []));
    const longest = resultShare(states.length);
    if (states.length === opened.length)
      return { ok: true, states: states.map((state) => withResultInStateUpTo(state, longest)) };
  }
  throw new Error('the policy changed at each try to open this turn');
}

/** All cards of a turn travel together; a call for whose card no room is left is refused, its siblings go on. */
function withRoomForCards(openings: readonly Opening[]): readonly Opening[] {
  let left: number = TURN_LIMITS.cardBytes;
  return openings.map((opening) => {
    if (opening.plan.kind !== 'ask') return opening;
    const bytes = Buffer.byteLength(canonicalJson(jsonOf(opening.plan.draft)));
    if (bytes > left) return { ...opening, plan: { kind: 'refused', refusal: cardTooLarge(bytes, left) } };
    left -= bytes;
    return opening;
  });
}

function cardTooLarge(bytes: number, left: number): Refusal {
  return refusal('CARD_TOO_LARGE', { bytes, left, limit: TURN_LIMITS.cardBytes });
}

/** What to put on record for a prepared call. */
export async function openingOf(deps: Dependencies, prepared: PreparedCall, cause: OpeningCause): Promise<Opening> {
  const { ref: call } = prepared;
  if (prepared.kind === 'refused')
    return { call, cause, active: null, plan: { kind: 'refused', refusal: prepared.refusal } };
  const { active } = prepared;
  if (prepared.ask === null) return { call, cause, active, plan: { kind: 'free' } };
  const draft = await draftOf(deps, prepared);
  return { call, cause, active, plan: { kind: 'ask', draft, similarDigest: prepared.similarDigest } };
}

async function draftOf(deps: Dependencies, call: ReadyCall): Promise<RequestDraft> {
  const { ref, entry, server } = call;
  if (call.ask === null) throw new TypeError('a call that nothing asks about has no request');
  const reads = { servers: deps.servers, server, operationId: ref.operationId, arguments: call.call.arguments };
  const [preview, state] = await Promise.all([
    entry.preview === null ? null : readTool(entry.preview, reads),
    entry.state === null || call.state !== null ? null : readTool(entry.state, reads),
  ]);
  const shown = (reading: JsonValue): JsonValue => fitting(hideSecrets(reading, call.secretTexts));
  return {
    v: 1,
    operationId: ref.operationId,
    turnId: ref.turnId,
    callId: ref.callId,
    workflowId: ref.workflowId,
    requester: ref.requester,
    server: ref.server,
    tool: ref.tool,
    toolTitle: call.tool.title,
    material: call.material,
    arguments: call.masked,
    argumentsDigest: call.argumentsDigest,
    bindingDigest: call.bindingDigest,
    toolDigest: call.toolDigest,
    serverIdentity: server.identity,
    resourceVersion: call.resourceVersion,
    policyVersion: call.active.version,
    ask: call.ask,
    classification: entry.classification,
    reversible: entry.reversible,
    expected: entry.expected,
    preview:
      entry.preview === null || preview === null
        ? null
        : {
            show: entry.preview.show,
            value: preview.ok ? shown(preview.value) : { unavailable: hideInText(preview.detail, call.secretTexts) },
          },
    state: shown(call.state ?? (state?.ok === true ? state.value : null)),
    note: call.call.note ?? null,
    ...(call.call.context !== undefined && { context: call.call.context }),
  };
}

/** What a card shows of another tool's answer, beside what is approved: this much, or that it is longer. */
const LONGEST_READING = 65_536;

function fitting(reading: JsonValue): JsonValue {
  const bytes = Buffer.byteLength(canonicalJson(reading));
  return bytes <= LONGEST_READING
    ? reading
    : { unavailable: `it has ${bytes} bytes; a card shows at most ${LONGEST_READING}` };
}
