import { randomUUID } from 'node:crypto';
import { readToolPage } from '../../activities/tool-listing';
import type { ToolDefinition } from '../../activities/tool-server';
import { HoldpointError } from '../../client/errors';
import { refusal, type Refusal } from '../../core/errors';
import { storable } from '../../core/display';
import type { ToolHints } from '../../core/evaluation';
import type { JsonObject } from '../../core/json';
import { parseArguments } from '../../core/turn-schema';
import { LedgerError } from '../../ledger/ledger-error';
import type { Active } from '../../ledger/ledger';
import { withoutForeignApproval } from '../answers/foreign-approval';
import { showList } from '../lists/show-list';
import type { ClientSession, Gate, GateAnswer, IncomingCall } from '../ports';
import { refusedAnswer } from './call-answer';
import { entryOf, gatingOf, mayBeHeld } from './gating';
import { answerHeld } from './held-call';
import type { GateOptions, HoldContext } from './hold-context';
import { Holds } from './holds';
import { ShownLists } from './shown-lists';
import { SessionTools } from './session-tools';
import { isTask, Tasks } from './tasks';
import { readToolCall, type ToolCallParams } from './tool-call';
import { INVALID_PARAMS, INTERNAL_ERROR } from '../wire/refusal';

/** Everything that judging a call needs. */
interface GateContext extends HoldContext {
  readonly tasks: Tasks;
  readonly lists: ShownLists;
}

/** The gate, and what its activity worker needs of it. */
export function createGate(options: GateOptions): { readonly gate: Gate; readonly context: HoldContext } {
  const shared = {
    ...options,
    ownQueue: `holdpoint-gateway-${randomUUID()}`,
    holds: new Holds(),
    tools: new SessionTools(options.deps.log),
  };
  const context: GateContext = { ...shared, tasks: new Tasks(shared), lists: new ShownLists() };
  return {
    context,
    gate: {
      judge: (call) => judge(context, call).catch((error: unknown) => notExecuted(context, { call, error })),
      showList: (session, text) => showTools(context, session, text),
      showAnswer: withoutForeignApproval,
    },
  };
}

async function judge(context: GateContext, incoming: IncomingCall): Promise<GateAnswer> {
  const cameAtMs = performance.now();
  if (incoming.message.method !== 'tools/call') return context.tasks.answer(incoming);
  const read = readToolCall(incoming.message);
  if (!read.ok) return { kind: 'error', error: { code: INVALID_PARAMS, message: read.detail } };
  const active = await context.deps.ledger.activePolicy();
  if (active === null) return refusedAnswer(refusal('NO_POLICY'));
  const tool = await listedTool(context, incoming.session, { active, call: read.call });
  if ('code' in tool) return refused(context, { incoming, tool: read.call.tool, why: tool });
  const { session } = incoming;
  const facts = { requester: session.requester, server: session.server, hints: tool.hints, ...read.call };
  const gating = gatingOf(active.policy, facts);
  switch (gating.kind) {
    case 'pass':
      return gating;
    case 'refuse':
      return refused(context, { incoming, tool: read.call.tool, why: gating.refusal });
    case 'hold': {
      const fitting = parseArguments(read.call.arguments);
      // Sent ahead of the answer, which its client would else hold to a schema that is out of date.
      if (context.lists.takeStale(session, active.version)) incoming.notify?.('notifications/tools/list_changed', {});
      const held = { incoming, call: read.call, tool, active, cameAtMs };
      if (fitting.ok) return isTask(held) ? context.tasks.begin(held) : answerHeld(context, held);
      const names = { server: session.server, tool: read.call.tool };
      const why = refusal('ARGUMENTS_INVALID', { ...names, detail: fitting.detail });
      return refused(context, { incoming, tool: read.call.tool, why });
    }
  }
}

interface Refused {
  readonly incoming: IncomingCall;
  readonly tool: string;
  readonly why: Refusal;
}

/** Refuses before there is an operation, and puts on record who tried what; the answer is the same where that fails. */
async function refused({ deps }: GateContext, { incoming, tool, why }: Refused): Promise<GateAnswer> {
  const { requester, server } = incoming.session;
  await deps.ledger
    .noteRefusal({ requester, server, tool: storable(tool, LONGEST_NAME), code: why.code })
    .catch((error: unknown) => {
      deps.log.error({ error: String(error) }, 'gateway.refusalNotRecorded');
    });
  return refusedAnswer(why);
}

/** Of a tool's name on record. */
const LONGEST_NAME = 200;

/** The tool as the client's session lists it; access is judged first, so nobody learns of tools that are not theirs. */
async function listedTool(
  { tools, deps }: HoldContext,
  session: ClientSession,
  { active, call }: { readonly active: Active; readonly call: ToolCallParams },
): Promise<ToolDefinition | Refusal> {
  const { requester, server } = session;
  const before = gatingOf(active.policy, { requester, server, hints: NO_HINTS, ...call });
  if (before.kind === 'refuse') return before.refusal;
  const listed = await tools.known(session, call.tool);
  if (listed.ok) return listed.tools.get(call.tool) ?? refusal('TOOL_UNKNOWN', { server, tool: call.tool });
  deps.log.warn({ server, detail: listed.detail }, 'gateway.unlisted');
  return refusal('SERVER_UNREACHABLE', {
    server,
    detail: "it gave no list of its tools, and the gateway's log says why",
  });
}

async function showTools({ deps, lists }: GateContext, session: ClientSession, text: string): Promise<string> {
  const active = await deps.ledger.activePolicy();
  if (active === null) return text;
  const { requester, server } = session;
  if (text.includes('"tools"')) lists.note(session, active.version);
  return showList(text, (tool, raw) => ({
    gated: mayBeHeld(active.policy, { requester, server, tool, hints: hintsOf(raw) }),
    hidden: Object.keys(entryOf(active.policy, server, tool).fill),
  }));
}

function hintsOf(raw: JsonObject): ToolHints {
  return readToolPage({ tools: [raw] })?.tools[0]?.hints ?? NO_HINTS;
}

const NO_HINTS: ToolHints = { readOnly: null, destructive: null };

/** What fails before anything was sent: in words, never as a success. */
function notExecuted({ deps }: GateContext, { call, error }: { call: IncomingCall; error: unknown }): GateAnswer {
  if (error instanceof LedgerError || error instanceof HoldpointError) {
    if (call.message.method === 'tools/call') return refusedAnswer({ code: error.code, detail: error.message });
    return { kind: 'error', error: { code: INTERNAL_ERROR, message: `${error.code}: ${error.message}` } };
  }
  deps.log.error({ error: String(error) }, 'gateway.failed');
  return {
    kind: 'error',
    error: { code: INTERNAL_ERROR, message: 'NOT executed: the gateway failed, and its log says why' },
  };
}
