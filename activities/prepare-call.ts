import { bindingDigest, digestOf, keyedToken, operationId, toolDefinitionDigest } from '../core/digest';
import { refusal, type Refusal } from '../core/errors';
import type { Ask, MaterialField } from '../core/evaluation';
import { evaluate } from '../core/evaluate-policy';
import { readMaterial } from '../core/material';
import { accessRefusal } from '../core/policy-access';
import { serverOf, toolOf } from '../core/policy-lookup';
import { atPointer, canonicalJson, type JsonObject, type JsonValue } from '../core/json';
import type { ServerEntry, ToolEntry } from '../core/policy';
import type { ProposedCall, TurnInput } from '../core/turn';
import { parseArguments } from '../core/turn-schema';
import { touchesSecret } from '../core/touches-secret';
import type { Active } from '../ledger/ledger';
import type { CallRef } from '../ledger/commands/open-call';
import { checkArguments } from './check-arguments';
import type { Dependencies } from './dependencies';
import { hideInText, hideSecrets, maskSecrets, secretTexts, type SecretText } from './masking';
import { readTool } from './read-tool';
import { undeclaredTool } from './undeclared-tool';
import type { ToolDefinition } from './tool-server';

/** A turn as far as one of its calls needs it. */
export type TurnRef = Pick<TurnInput, 'turnId' | 'requester'> & { readonly workflowId: string };

/** A call with everything fresh: what the policy asks of it now, what is bound now, what would be sent. */
export interface ReadyCall {
  readonly kind: 'ready';
  readonly ref: CallRef;
  readonly call: ProposedCall;
  readonly active: Active;
  readonly server: ServerEntry;
  readonly entry: ToolEntry;
  readonly tool: ToolDefinition;
  readonly ask: Ask | null;
  readonly material: readonly MaterialField[];
  /** The arguments as the tool gets them: the model's, and those that Holdpoint fills. */
  readonly filled: JsonObject;
  readonly masked: JsonObject;
  /** What the server may repeat and nobody else may see. */
  readonly secretTexts: readonly SecretText[];
  readonly toolDigest: string;
  readonly argumentsDigest: string;
  readonly bindingDigest: string;
  readonly similarDigest: string;
  readonly resourceVersion: JsonValue;
  readonly state: JsonValue;
}

export type PreparedCall = ReadyCall | { readonly kind: 'refused'; readonly ref: CallRef; readonly refusal: Refusal };

/** The ids of a call; they depend on nothing that may change. */
function refOf(deps: Dependencies, { turn, call, active }: Preparing): CallRef {
  const { requester, turnId, workflowId } = turn;
  return {
    operationId: operationId({ requesterSubject: requester.subject, turnId, callId: call.id }),
    workflowId,
    turnId,
    callId: call.id,
    requester,
    requesterKey: digestOf({ subject: requester.subject, agent: requester.agent, chain: requester.chain }),
    server: call.server,
    tool: call.tool,
    contentDigest: digestOf([
      'holdpoint/call/1',
      call.server,
      call.tool,
      contentOf(deps, call, active),
      ...sessionOf(call),
    ]),
  };
}

/** The client's session on which a call runs, where there is one. */
function sessionOf({ context }: ProposedCall): readonly JsonValue[] {
  return context?.session === undefined ? [] : [context.session];
}

/** The arguments without secrets, since a guess at a short one could be tested on the digest; all, where none is named. */
function contentOf({ secretsKey }: Dependencies, call: ProposedCall, active: Active | null): JsonValue {
  const parsed = parseArguments(call.arguments);
  if (!parsed.ok) return { unreadable: parsed.detail };
  if (active === null) return keyedToken(secretsKey, parsed.value);
  return maskSecrets(parsed.value, toolOf(active.policy, call.server, call.tool)?.secrets ?? [], secretsKey);
}

interface Preparing {
  readonly turn: TurnRef;
  readonly call: ProposedCall;
  readonly active: Active | null;
  /** A listing of tools that was begun then or later will do; without it a new one is asked for. */
  readonly listedSinceMs?: number | undefined;
}

/**
 * Reads and judges a call afresh: policy, server, tool, arguments, access, rules, resource version. Used before anybody
 * is asked and again right before the effect; anything missing, unknown or unreachable refuses it.
 */
export async function prepareCall(deps: Dependencies, preparing: Preparing): Promise<PreparedCall> {
  const { call, active } = preparing;
  const ref = refOf(deps, preparing);
  const refuse = (why: Refusal): PreparedCall => ({ kind: 'refused', ref, refusal: why });
  if (active === null) return refuse(refusal('NO_POLICY'));
  const place = locate(active, ref, call);
  if ('code' in place) return refuse(place);
  const listed = await deps.servers.get(place.server).listTools(preparing.listedSinceMs);
  if (!listed.ok) return refuse(noAnswer(deps, call, { entry: place.entry, detail: listed.detail }));
  const tool = listed.tools.get(call.tool);
  if (tool === undefined) return refuse(refusal('TOOL_UNKNOWN', { server: call.server, tool: call.tool }));
  const filled = fillArguments(ref, call, { entry: place.entry, tool });
  if ('code' in filled) return refuse(filled);
  return judge(deps, { ref, call, active, ...place, tool, filled: filled.arguments });
}

/** Addresses and a server's own words are for operators, who have the log; the refusal is read by a model. */
function noAnswer(
  { log, secretsKey }: Dependencies,
  { server, arguments: args }: ProposedCall,
  { entry, detail }: { entry: ToolEntry; detail: string },
): Refusal {
  log.warn({ server, detail: hideInText(detail, secretTexts(args, entry.secrets, secretsKey)) }, 'server.unreachable');
  return refusal('SERVER_UNREACHABLE', { server, detail: "it gave no usable answer, and the worker's log says why" });
}

/** Before anything is asked of the server: somebody without access learns nothing of its tools. */
function locate(active: Active, ref: CallRef, call: ProposedCall): { server: ServerEntry; entry: ToolEntry } | Refusal {
  const names = { tool: call.tool, server: call.server };
  const parsed = parseArguments(call.arguments);
  if (!parsed.ok) return refusal('ARGUMENTS_INVALID', { ...names, detail: parsed.detail });
  const server = serverOf(active.policy, call.server);
  const entry = toolOf(active.policy, call.server, call.tool) ?? undeclaredTool(call.tool);
  const material = readMaterial(entry, parsed.value, null);
  const facts = { requester: ref.requester, ...names, hints: NO_HINTS, material };
  const refused = accessRefusal(active.policy, facts);
  // Access may depend on the state of the target, which is read later and judged then.
  const judgedLater = refused?.code === 'ACCESS_DENIED' && entry.material.some((field) => field.from === 'state');
  if (refused !== null && !judgedLater) return refused;
  return server === undefined ? refusal('SERVER_UNKNOWN', { ...names, known: 'none' }) : { server, entry };
}

const NO_HINTS = { readOnly: null, destructive: null } as const;

function fillArguments(
  ref: CallRef,
  call: ProposedCall,
  { entry, tool }: { entry: ToolEntry; tool: ToolDefinition },
): { readonly arguments: JsonObject } | Refusal {
  const names = { tool: call.tool, server: call.server };
  const reserved = Object.keys(entry.fill).find((name) => Object.hasOwn(call.arguments, name));
  if (reserved !== undefined) return refusal('ARGUMENT_RESERVED', { ...names, name: reserved });
  const fills = Object.fromEntries(Object.keys(entry.fill).map((name) => [name, ref.operationId]));
  const filled = { ...call.arguments, ...fills };
  const checked = checkArguments(tool.inputSchema, filled);
  return checked.ok ? { arguments: filled } : refusal('ARGUMENTS_INVALID', { ...names, detail: checked.detail });
}

type Judging = Pick<ReadyCall, 'ref' | 'call' | 'active' | 'server' | 'entry' | 'tool' | 'filled'>;

async function judge(deps: Dependencies, judging: Judging): Promise<PreparedCall> {
  const { ref, call, active, server, entry, tool } = judging;
  const refuse = (why: Refusal): PreparedCall => ({ kind: 'refused', ref, refusal: why });
  const reads = { servers: deps.servers, server, operationId: ref.operationId, arguments: call.arguments };
  const needsState = entry.material.some((field) => field.from === 'state');
  const state = needsState && entry.state !== null ? await readTool(entry.state, reads) : null;
  const material = readMaterial(entry, call.arguments, state?.ok === true ? state.value : null);
  const facts = { requester: ref.requester, server: call.server, tool: call.tool, hints: tool.hints, material };
  const evaluated = evaluate(active.policy, facts, call.confirm === true);
  if (evaluated.access === 'refused') return refuse({ code: evaluated.code, detail: evaluated.detail });
  const { ask } = evaluated;
  const version = ask === null || entry.version === null ? null : await readTool(entry.version, reads);
  if (version?.ok === false) return refuse(noAnswer(deps, call, { entry, detail: version.detail }));
  const read = version === null || entry.version === null ? null : atPointer(version.value, entry.version.read);
  if (read?.found === false) {
    const detail = `${entry.version?.tool ?? ''} gave no resource version at ${entry.version?.read ?? ''}`;
    return refuse(refusal('SERVER_UNREACHABLE', { server: call.server, detail }));
  }
  if (read !== null && canonicalJson(read.value).length > LONGEST_VERSION) {
    const detail = `${entry.version?.tool ?? ''} gave a resource version of more than ${LONGEST_VERSION} characters`;
    return refuse(refusal('SERVER_UNREACHABLE', { server: call.server, detail }));
  }
  return ready(deps, judging, {
    ask,
    material,
    resourceVersion: read?.value ?? null,
    state: state?.ok === true ? state.value : null,
  });
}

/** A version names a state; what is longer is the state itself. */
const LONGEST_VERSION = 4_096;

type Fresh = Pick<ReadyCall, 'ask' | 'material' | 'resourceVersion' | 'state'>;

function ready(deps: Dependencies, judging: Judging, fresh: Fresh): ReadyCall {
  const { ref, call, server, entry, tool } = judging;
  const bind = fresh.ask?.bind ?? 'arguments';
  const toolDigest = toolDefinitionDigest(tool.raw);
  const masked = maskSecrets(call.arguments, entry.secrets, deps.secretsKey);
  const secrets = secretTexts(call.arguments, entry.secrets, deps.secretsKey);
  const resourceVersion = hideSecrets(fresh.resourceVersion, secrets);
  const material = Object.fromEntries(materialOf(call, entry, deps.secretsKey));
  return {
    kind: 'ready',
    ...judging,
    ...fresh,
    material: fresh.material
      .map((field) => showField(field, entry, deps.secretsKey))
      .map((field) => (field.from === 'state' ? { ...field, value: hideSecrets(field.value, secrets) } : field)),
    state: hideSecrets(fresh.state, secrets),
    resourceVersion,
    masked,
    secretTexts: secrets,
    toolDigest,
    argumentsDigest: ref.contentDigest,
    bindingDigest: bindingDigest({
      v: 1,
      requester: ref.requester,
      server: { name: server.name, identity: server.identity },
      tool: call.tool,
      toolDigest,
      bind,
      bound: withSession(call, { tool: null, arguments: masked, material }[bind]),
      resourceVersion,
    }),
    similarDigest: digestOf(['holdpoint/similar/1', call.server, call.tool, material]),
  };
}

/** A stateful server does for one session what it refuses another, so the session is bound whatever the rule binds. */
function withSession(call: ProposedCall, bound: JsonValue): JsonValue {
  const [session] = sessionOf(call);
  return session === undefined ? bound : { bound, session };
}

/** The arguments that are material. What is read from the state is a condition, not part of what was approved. */
function materialOf(call: ProposedCall, { material, secrets }: ToolEntry, key: Uint8Array): [string, JsonObject][] {
  const fields = material.filter((field) => field.from === 'arguments');
  return fields.map(({ name, at }) => {
    // Raw, not as typed for the card: two values of a wrong kind are still two values.
    const read = atPointer(call.arguments, at);
    return [
      name,
      read.found && touchesSecret(at, secrets) ? { ...read, value: keyedToken(key, read.value) } : { ...read },
    ];
  });
}

function showField(field: MaterialField, entry: ToolEntry, key: Uint8Array): MaterialField {
  const secret = field.from === 'arguments' && field.found && touchesSecret(field.at, entry.secrets);
  return secret ? { ...field, value: keyedToken(key, field.value) } : field;
}

/** What the dispatch transaction compares with the open request to tell what changed. */
export function boundOf(call: ReadyCall) {
  return {
    toolDigest: call.toolDigest,
    serverIdentity: call.server.identity,
    resourceVersion: canonicalJson(call.resourceVersion),
    argumentsDigest: call.argumentsDigest,
    masked: canonicalJson(call.masked),
  };
}
