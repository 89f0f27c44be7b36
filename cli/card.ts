import { notes, showJson, type Shown } from '../core/display';
import type { MaterialField } from '../core/evaluation';
import type { JsonValue } from '../core/json';
import { atPointer } from '../core/json';
import type { ApprovalRequest } from '../core/request';
import { afterwardsText, CAUSE_TEXT } from '../core/words';
import { askLines, line, type CardView } from './card-ask';
import type { Paint } from './paint';
import { gutter, safe, safeBlock, when } from './text';

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
    ...askLines(view, paint),
    ...riskLines(request),
    ...similarLines(request),
    ...contextLines(request, paint),
    ...line('operation', `${request.operationId}  turn ${safe(request.turnId)}, call ${safe(request.callId)}`),
    ...line('binding', request.bindingDigest),
    ...noteLines(request, paint),
    ...answerLines(view, paint),
  ].join('\n');
}

function block(label: string, text: Shown): readonly string[] {
  return [label, gutter(text)];
}

function requesterText({ requester }: ApprovalRequest): string {
  const { subject, agent, chain } = requester;
  const through = chain.length === 0 ? '' : ` (chain: ${[subject, ...chain, agent].map(safe).join(' > ')})`;
  return `${safe(subject)} through agent ${safe(agent)}${through}`;
}

function titleText({ toolTitle }: ApprovalRequest): string {
  return toolTitle === null ? '' : `  (its server calls it ${showJson(toolTitle, 'line')})`;
}

function causeLines(request: ApprovalRequest, paint: Paint): readonly string[] {
  if (request.cause === 'first') return [];
  return line('asked again', paint.yellow(`${CAUSE_TEXT[request.cause]}; nothing has run`));
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
  return [
    `${head}:${warned}`,
    gutter(typeof field.value === 'string' ? safeBlock(field.value) : showJson(field.value), '    '),
  ];
}

function valueText(value: JsonValue): string {
  return typeof value === 'string' ? safe(value) : showJson(value, 'line');
}

function previewLines({ preview }: ApprovalRequest): readonly string[] {
  if (preview === null) return [];
  return block(preview.show === 'diff' ? 'diff' : 'preview', readable(preview.value));
}

/** A state is data: its members on lines of their own, where the tool gives any. */
function stateText(value: JsonValue): Shown {
  const structured = atPointer(value, '/structuredContent');
  return structured.found ? showJson(structured.value) : readable(value);
}

/** The text of a tool's result, or its structured content, or the whole as JSON. */
function readable(value: JsonValue): Shown {
  const content = atPointer(value, '/content');
  const blocks: readonly JsonValue[] = content.found && Array.isArray(content.value) ? content.value : [];
  const texts = blocks.flatMap((entry) => {
    const text = atPointer(entry, '/text');
    return text.found && typeof text.value === 'string' ? [text.value] : [];
  });
  if (texts.length > 0) return safeBlock(texts.join('\n'));
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
  const rows = similar.map((operation) => {
    const { atMs, requester, state, operationId } = operation;
    return `  ${when(atMs)}  ${state}${afterwardsText(operation)}  ${safe(requester ?? 'somebody else')}  ${operationId ?? ''}`.trimEnd();
  });
  return ['similar earlier operations', ...rows];
}

function contextLines({ context = {} }: ApprovalRequest, paint: Paint): readonly string[] {
  const { session, checkpoint } = context;
  const says = paint.dim('a checkpoint that the caller says it has taken (a fact of the caller, no approval)');
  return [
    ...(session === undefined ? [] : block('runs on the session', showJson(session))),
    ...(checkpoint === undefined ? [] : [says, gutter(showJson(checkpoint))]),
  ];
}

function noteLines({ note }: ApprovalRequest, paint: Paint): readonly string[] {
  return note === null
    ? []
    : [paint.dim("the model's own words (no fact, nobody checked them)"), gutter(safeBlock(note))];
}

function answerLines({ request, standing, decisions, trust }: CardView, paint: Paint): readonly string[] {
  const made = decisions.map((decision) => {
    const signed = decision.verified ? 'signed' : paint.red('UNVERIFIED: not signed');
    const reason = decision.reason === null ? '' : `: ${showJson(decision.reason, 'line')}`;
    const minutes = decision.minutes === null ? '' : ` for ${decision.minutes} min`;
    const under =
      decision.emergency === null ? '' : paint.red(` as an EMERGENCY under rule ${safe(decision.emergency)}`);
    const revision = decision.revision === request.revision ? '' : ` of revision ${decision.revision}`;
    return `  ${when(decision.atMs)}  ${decision.answer}${minutes}${revision}${under} by ${safe(decision.reviewer)} (${signed}, ${safe(decision.channel)})${reason}`;
  });
  const recorded = made.length === 0 ? [] : ['decisions', ...made];
  if (standing.state !== 'pending') return recorded;
  const window = request.ask.validity.kind === 'window' ? ' [--minutes N]' : '';
  const answer = `holdpoint allow ${request.shortId}${window}   or   holdpoint deny ${request.shortId} --reason TEXT`;
  const open = trust === 'namespace' ? line('TRUST', paint.red('namespace: UNSIGNED decisions count')) : [];
  return [...recorded, paint.dim('─'.repeat(72)), ...open, ...line('answer', answer)];
}
