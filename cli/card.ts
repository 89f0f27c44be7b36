import { notes, showJson } from '../core/display';
import type { MaterialField } from '../core/evaluation';
import { approversAt, describeStep, progressOf } from '../core/judge-decision';
import type { JsonValue } from '../core/json';
import { atPointer } from '../core/json';
import type { Policy } from '../core/policy';
import type { ApprovalRequest } from '../core/request';
import type { DecisionRecord, RequestRecord } from '../ledger/queries';
import type { Paint } from './paint';
import { BIND_TEXT, brief, duration, gutter, relative, safe, validityText, when } from './text';

/** What a card is drawn from: the request as asked, its decisions, and the people as they are now. */
export interface CardView extends RequestRecord {
  readonly decisions: readonly DecisionRecord[];
  readonly policy: Policy | null;
  /** `namespace`: whoever reaches Temporal may decide under any name. Null where no policy is active. */
  readonly trust: 'signatures' | 'namespace' | null;
  readonly nowMs: number;
}

const LABEL_WIDTH = 12;

/**
 * An approval request for a terminal: who asks, what will run, which rule asks and what an allow would permit; the
 * model's own note last. Every text that came from outside is shown with what it hides, and nothing is cut.
 */
export function cardText(view: CardView, paint: Paint): string {
  const { request, standing } = view;
  const title = `${request.shortId}  ${safe(request.server)} / ${safe(request.tool)}`;
  const state = standing.state === 'pending' ? paint.yellow('waits for a decision') : paint.bold(standing.state);
  return [
    `${paint.bold(title)}  ${state}${request.revision > 1 ? `  revision ${request.revision}` : ''}`,
    paint.dim('─'.repeat(72)),
    ...line('asks', requesterText(request)),
    ...line('wants', `${safe(request.server)} / ${safe(request.tool)}${titleText(request)}`),
    ...causeLines(request, paint),
    ...materialLines(request, paint),
    ...block('arguments', showJson(request.arguments)),
    ...previewLines(request),
    ...versionLines(request, paint),
    ...(request.state === null ? [] : block('state now', stateText(request.state))),
    ...ruleLines(view, paint),
    ...riskLines(request),
    ...similarLines(request),
    ...line('operation', `${request.operationId}  turn ${safe(request.turnId)}, call ${safe(request.callId)}`),
    ...line('binding', request.bindingDigest),
    ...noteLines(request, paint),
    ...answerLines(view, paint),
  ].join('\n');
}

function line(label: string, text: string): readonly string[] {
  return [`${label.padEnd(LABEL_WIDTH)}${text}`];
}

function block(label: string, text: string): readonly string[] {
  return [label, gutter(text)];
}

function requesterText({ requester }: ApprovalRequest): string {
  const { subject, agent, chain } = requester;
  const through = chain.length === 0 ? '' : ` (chain: ${[subject, ...chain, agent].map(safe).join(' > ')})`;
  return `${safe(subject)} through agent ${safe(agent)}${through}`;
}

function titleText({ toolTitle }: ApprovalRequest): string {
  return toolTitle === null ? '' : `  (its server calls it ${safe(JSON.stringify(toolTitle))})`;
}

const CAUSES: Readonly<Record<ApprovalRequest['cause'], string>> = {
  first: '',
  argumentsChanged: 'the arguments are no longer those that were approved',
  resourceChanged: 'the resource changed after the approval',
  definitionChanged: "the tool's definition changed after the approval",
  ruleChanged: 'the rules changed after the approval',
  serverChanged: 'the server changed after the approval',
  reviewerChanged: 'somebody who approved may no longer do so',
  grantUnusable: 'the grant had ended, was revoked or was used up',
};

function causeLines(request: ApprovalRequest, paint: Paint): readonly string[] {
  if (request.cause === 'first') return [];
  return line('asked again', paint.yellow(`${CAUSES[request.cause]}; nothing has run`));
}

function materialLines({ material }: ApprovalRequest, paint: Paint): readonly string[] {
  if (material.length === 0) return [];
  return ['material', ...material.flatMap((field) => fieldLines(field, paint))];
}

function fieldLines(field: MaterialField, paint: Paint): readonly string[] {
  const head = `  ${safe(field.name)} ${paint.dim(`(${field.as}${field.from === 'state' ? ', read from the state' : ''})`)}`;
  if (!field.found) return [`${head}: ${paint.yellow('missing, or not of this type')}`];
  const warnings = typeof field.value === 'string' ? notes(field.value) : [];
  const warned = warnings.length === 0 ? '' : `  ${paint.red(`! ${warnings.join(', ')}`)}`;
  const isLong =
    field.as === 'sql' || field.as === 'json' || (typeof field.value === 'string' && field.value.includes('\n'));
  if (!isLong) return [`${head}: ${valueText(field.value)}${warned}`];
  return [`${head}:${warned}`, gutter(typeof field.value === 'string' ? field.value : showJson(field.value), '    ')];
}

function valueText(value: JsonValue): string {
  return typeof value === 'string' ? safe(value) : safe(JSON.stringify(value));
}

function previewLines({ preview }: ApprovalRequest): readonly string[] {
  if (preview === null) return [];
  return block(preview.show === 'diff' ? 'diff' : 'preview', readable(preview.value));
}

/** A state is data: its members on lines of their own, where the tool gives any. */
function stateText(value: JsonValue): string {
  const structured = atPointer(value, '/structuredContent');
  return structured.found ? showJson(structured.value) : readable(value);
}

/** The text of a tool's result, or its structured content, or the whole as JSON. */
function readable(value: JsonValue): string {
  const content = atPointer(value, '/content');
  const blocks: readonly JsonValue[] = content.found && Array.isArray(content.value) ? content.value : [];
  const texts = blocks.flatMap((entry) => {
    const text = atPointer(entry, '/text');
    return text.found && typeof text.value === 'string' ? [text.value] : [];
  });
  if (texts.length > 0) return texts.join('\n');
  const structured = atPointer(value, '/structuredContent');
  return showJson(structured.found ? structured.value : value);
}

function versionLines({ resourceVersion, previousResourceVersion }: ApprovalRequest, paint: Paint): readonly string[] {
  if (resourceVersion === null) return [];
  const before =
    previousResourceVersion === null
      ? ''
      : paint.yellow(`  was ${valueText(previousResourceVersion)} when it was approved`);
  return line('version', `${valueText(resourceVersion)}${before}`);
}

function ruleLines({ request, standing, decisions, policy, nowMs }: CardView, paint: Paint): readonly string[] {
  const { ask } = request;
  const rule = ask.rule === null ? 'the runtime itself (confirm)' : `${safe(ask.rule.id)} @ ${brief(ask.rule.version)}`;
  const others = ask.matched.filter((matched) => matched.id !== ask.rule?.id).map((matched) => safe(matched.id));
  const also = others.length === 0 ? '' : `; also matched: ${others.join(', ')}`;
  const bind = ask.validity.kind === 'once' ? '' : ` ${BIND_TEXT[ask.bind]}`;
  const emergency = ask.emergency ? paint.red('  EMERGENCY RULE') : '';
  const life = {
    status: 'pending',
    revision: request.revision,
    digest: request.bindingDigest,
    openedAtMs: request.openedAtMs,
    deadlineAtMs: request.deadlineAtMs,
    level: standing.level,
    dueAtMs: standing.dueAtMs ?? request.deadlineAtMs,
    schedule: ask,
  } as const;
  const own = decisions.filter((decision) => decision.revision === request.revision);
  const progress =
    policy === null ? null : progressOf({ life, ask, requester: request.requester, policy, counted: own });
  const counted =
    progress === null || standing.state !== 'pending' ? '' : `; ${progress.allows} of ${progress.needed} so far`;
  const people =
    policy === null
      ? []
      : ask.steps.flatMap((step) => (step.kind === 'rule' ? approversAt({ policy, ask, life }, step) : []));
  const named = people.length === 0 ? '' : ` (now: ${people.map(safe).join(', ')})`;
  return [
    ...line('rule', `${rule}${also}, policy ${request.policyVersion}${emergency}`),
    ...line('an allow', `permits ${validityText(ask.validity)}${bind}`),
    ...line('asked', `${safe(ask.steps.map(describeStep).join(', then '))}${named}${counted}`),
    ...escalationLines(request, standing.level),
    ...line('deadline', deadlineText(request, nowMs)),
  ];
}

function escalationLines({ ask, openedAtMs }: ApprovalRequest, level: number): readonly string[] {
  return ask.escalate.flatMap(({ afterMs, to }, index) => {
    const who = [...to.groups, ...to.people].map(safe).join(', ');
    return line(index < level ? 'escalated' : 'escalates', `${when(openedAtMs + afterMs)} to ${who}`);
  });
}

function deadlineText({ ask, deadlineAtMs }: ApprovalRequest, nowMs: number): string {
  const then = 'then it expires and is not executed';
  const reminders =
    ask.deadline.then === 'keepWaiting' ? `, with a reminder each ${duration(ask.deadline.remindEveryMs ?? 0)}` : '';
  return `${when(deadlineAtMs)} (${relative(deadlineAtMs, nowMs)}), ${then}${reminders}`;
}

const REVERSIBLE: Readonly<Record<string, string>> = { yes: 'yes', 'with-effort': 'with effort', no: 'NO' };

function riskLines({ reversible, expected, classification }: ApprovalRequest): readonly string[] {
  return [
    ...line('reversible', reversible === null ? 'not stated' : (REVERSIBLE[reversible] ?? safe(reversible))),
    ...(expected === null ? [] : line('expected', safe(expected))),
    ...(classification === null ? [] : line('data', safe(classification))),
  ];
}

function similarLines({ similar }: ApprovalRequest): readonly string[] {
  if (similar.length === 0) return line('similar', 'no earlier operation with the same material fields');
  const rows = similar.map(
    ({ atMs, requester, state, operationId }) => `  ${when(atMs)}  ${state}  ${safe(requester)}  ${operationId}`,
  );
  return ['similar earlier operations', ...rows];
}

function noteLines({ note }: ApprovalRequest, paint: Paint): readonly string[] {
  return note === null ? [] : [paint.dim("the model's own words (no fact, nobody checked them)"), gutter(note)];
}

function answerLines({ request, standing, decisions, trust }: CardView, paint: Paint): readonly string[] {
  const made = decisions.map((decision) => {
    const signed = decision.verified ? 'signed' : paint.red('UNVERIFIED: not signed');
    const reason = decision.reason === null ? '' : `: ${safe(JSON.stringify(decision.reason))}`;
    const minutes = decision.minutes === null ? '' : ` for ${decision.minutes} min`;
    const revision = decision.revision === request.revision ? '' : ` of revision ${decision.revision}`;
    return `  ${when(decision.atMs)}  ${decision.answer}${minutes}${revision} by ${safe(decision.reviewer)} (${signed}, ${safe(decision.channel)})${reason}`;
  });
  const recorded = made.length === 0 ? [] : ['decisions', ...made];
  if (standing.state !== 'pending') return recorded;
  const window = request.ask.validity.kind === 'window' ? ' [--minutes N]' : '';
  const answer = `holdpoint allow ${request.shortId}${window}   or   holdpoint deny ${request.shortId} --reason TEXT`;
  const open = trust === 'namespace' ? line('TRUST', paint.red('namespace: UNSIGNED decisions count')) : [];
  return [...recorded, paint.dim('─'.repeat(72)), ...open, ...line('answer', answer)];
}
