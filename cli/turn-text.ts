import type { TurnCallResult, TurnEvent, TurnSnapshot } from '../client';
import { unreachable } from '../core/unreachable';
import type { Paint } from './paint';
import { settledText, type SettledSince } from './settled-since';
import { count, gutter, safe, safeBlock, when } from './text';

/**
 * Where a turn stands: one line a call, under it why it did not run, then what waits for people.
 * @param command what the user types to get this program.
 */
export function snapshotText(
  { turnId, workflowId, calls, requiredActions, refusal, ignored }: TurnSnapshot,
  paint: Paint,
  command: string,
): string {
  const lines = [`turn ${safe(turnId)}  (workflow ${safe(workflowId)})`];
  if (refusal !== null) lines.push(paint.red(`  refused whole [${refusal.code}]: ${safe(refusal.detail)}`));
  for (const call of calls) {
    const { state } = call;
    const word =
      state.status === 'ended'
        ? outcomeWord(state.end.outcome, paint)
        : state.status === 'pending'
          ? paint.yellow(`waits for ${state.request.shortId}`)
          : state.status;
    lines.push(`  ${safe(call.callId)}  ${safe(call.server)} / ${safe(call.tool)}  ${word}  ${call.operationId}`);
    const why = state.status === 'ended' ? whyNot(state.end) : null;
    if (why !== null) lines.push(`    ${safe(why)}`);
  }
  if (ignored > 0) lines.push(`  ${count(ignored, 'message')} not understood and ignored`);
  for (const { shortId } of requiredActions) lines.push(`${command} show ${shortId}`);
  return lines.join('\n');
}

/** Why a call did not take effect, as far as somebody or something said it. */
function whyNot(end: TurnCallResult['end']): string | null {
  switch (end.outcome) {
    case 'executed':
      return null;
    case 'refused':
      return `[${end.code}] ${end.detail}`;
    case 'denied':
      return `by ${end.deciders.join(', ')}${end.reason === null ? '' : `: ${end.reason}`}`;
    case 'failed':
    case 'unknown':
    case 'expired':
    case 'withdrawn':
      return end.detail;
    default:
      return unreachable(end);
  }
}

function outcomeWord(outcome: TurnCallResult['outcome'], paint: Paint): string {
  switch (outcome) {
    case 'executed':
      return paint.green(outcome);
    case 'unknown':
    case 'failed':
      return paint.red(outcome);
    case 'denied':
    case 'expired':
    case 'withdrawn':
    case 'refused':
      return paint.yellow(outcome);
    default:
      return unreachable(outcome);
  }
}

/** One event on one line; `command` as in {@link snapshotText}. */
export function eventText(event: TurnEvent, paint: Paint, command: string): string {
  return `#${event.number}  ${when(event.atMs)}  ${safe(event.callId)}  ${newsText(event, paint, command)}`;
}

function newsText(event: TurnEvent, paint: Paint, command: string): string {
  switch (event.type) {
    case 'proposed':
      return `proposed  ${event.operationId}`;
    case 'approvalRequired':
      return paint.yellow(`approval required: ${command} show ${event.request.shortId}`);
    case 'escalated':
      return `escalated to level ${event.level}`;
    case 'allowed':
      return event.revision === 0 ? 'may run, nobody has to be asked' : `allowed (revision ${event.revision})`;
    case 'outcomePending':
      return 'sent; its outcome is being established';
    case 'ended':
      return outcomeWord(event.end.outcome, paint);
    default:
      return unreachable(event);
  }
}

/** What the model is told of each call, in call order, and for people what became of it since. */
export function resultsText(
  results: readonly TurnCallResult[],
  since: ReadonlyMap<string, SettledSince>,
  paint: Paint,
): string {
  return results
    .map(({ callId, operationId, outcome, textForModel }) => {
      const head = `${safe(callId)}  ${outcomeWord(outcome, paint)}  ${operationId}`;
      const settled = since.get(operationId);
      const more = settled === undefined ? '' : `\n  ${paint.yellow(settledText(settled))}`;
      return `${head}\n${gutter(safeBlock(textForModel))}${more}`;
    })
    .join('\n');
}
