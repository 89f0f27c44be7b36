import { notes } from '../../core/display';
import type { MaterialField } from '../../core/evaluation';
import type { ApprovalRequest } from '../../core/request';
import { unreachable } from '../../core/unreachable';
import type { Limits, Line, Telling } from './notice';
import { name, us, value, type Piece } from './piece';
import { moment } from './time-text';
import type { ClosedState } from './closed-state';
import type { OutcomeState, Told } from './told';

/** A line whose label is ours. */
export function line(label: string, ...text: readonly Piece[]): Line {
  return { label: [us(label)], text };
}

const CLOSED: Readonly<Record<ClosedState, string>> = {
  allowed: 'allowed',
  denied: 'denied: nothing is executed',
  expired: 'expired: nothing is executed, silence is no consent',
  withdrawn: 'withdrawn: nothing is executed',
  refused: 'refused: nothing is executed',
};

const OUTCOMES: Readonly<Record<OutcomeState, string>> = {
  executed: 'executed',
  failed: 'failed: nothing was done',
  unknown: 'unknown: it was sent, but whether it took effect cannot be told. Do not repeat it; a person will find out',
  denied: 'denied: not executed',
  expired: 'expired: not executed. Too few people answered in time; silence is no consent',
  withdrawn: 'withdrawn: not executed',
  refused: 'refused: not executed',
};

/** What happened, in a few words of ours. */
export function headlineOf(told: Told): string {
  switch (told.kind) {
    case 'opened':
      return told.request.revision === 1 ? 'Approval asked' : 'Approval asked again';
    case 'escalated':
      return `Approval escalated to level ${told.level}`;
    case 'reminder':
      return 'Still waiting for approval';
    case 'closed':
      return `Approval request ${told.state}`;
    case 'outcome':
      return `Outcome: ${told.state}`;
    case 'emergency':
      return 'EMERGENCY: your approval was skipped';
    case 'reviewDue':
      return 'Review of an emergency is due';
    case 'unknown':
      return 'Outcome unknown: a person has to find out';
    case 'found':
      return `Outcome established: ${told.state}`;
    default:
      return unreachable(told);
  }
}

function againLines(request: ApprovalRequest | null): readonly Line[] {
  if (request === null || request.revision === 1) return [];
  const { revision } = request;
  return [line('asked again', us(`revision ${revision}: what was allowed before had changed, and was not executed`))];
}

/** What a notice says beside who asks for what. */
export function linesOf(told: Told, telling: Telling): readonly Line[] {
  switch (told.kind) {
    case 'opened':
    case 'escalated':
    case 'reminder':
      return [
        ...againLines(told.request),
        ...materialLines(told.request.material, telling.limits),
        line('rule', ...rulePieces(told.request), us(`, level ${told.level}`)),
        line(
          'deadline',
          us(`${moment(told.request.deadlineAtMs, telling.nowMs)}, then it expires and is not executed`),
        ),
      ];
    case 'closed':
      return [
        line('rule', ...rulePieces(told.request), us(`, level ${told.level}`)),
        line('now', us(CLOSED[told.state])),
        ...reasonLines(told.reason, telling),
      ];
    case 'outcome': {
      const isError = told.state === 'executed' && told.isError;
      const more = isError ? '; the tool itself answered with an error' : '';
      return [line('outcome', us(`${OUTCOMES[told.state]}${more}`)), ...reasonLines(told.reason, telling)];
    }
    case 'emergency':
    case 'reviewDue': {
      const { rule, ticket, reason, dueAtMs } = told.emergency;
      return [
        ...materialLines(told.request.material, telling.limits),
        line('rule', ...rulePieces(told.request), us(', skipped under emergency rule '), name(rule)),
        line('ticket', value(ticket, telling.limits.value)),
        ...reasonLines(reason, telling),
        line(
          'review',
          us(
            `due ${moment(dueAtMs, telling.nowMs)}, by one of those who were skipped; once it is overdue, the next emergency is refused`,
          ),
        ),
      ];
    }
    case 'unknown':
      return [line('outcome', us('it was sent, no answer came, and a look-up could not tell'))];
    case 'found':
      return [line('outcome', us(OUTCOMES[told.state]))];
    default:
      return unreachable(told);
  }
}

function rulePieces({ ask }: ApprovalRequest): readonly Piece[] {
  return ask.rule === null ? [us('the runtime itself (confirm)')] : [name(ask.rule.id)];
}

function reasonLines(reason: string | null, { limits }: Telling): readonly Line[] {
  return reason === null || reason === '' ? [] : [line('reason', value(reason, limits.value))];
}

/** Each field as it is typed; what a channel cannot take is said to be elsewhere. */
function materialLines(material: readonly MaterialField[], limits: Limits): readonly Line[] {
  const lines: Line[] = [];
  let left = limits.total;
  for (const field of material.slice(0, limits.fields)) {
    if (left <= 0) break;
    const text = fieldPieces(field, Math.min(limits.value, left));
    left -= text.reduce((sum, piece) => sum + piece.text.length, 0);
    lines.push({ label: [name(field.name), us(` (${field.as})`)], text });
  }
  const further = material.length - lines.length;
  if (further > 0) lines.push(line('material fields not shown here', us(`${further} more`)));
  return lines;
}

function fieldPieces({ found, value: given }: MaterialField, longest: number): readonly Piece[] {
  if (!found) return [us('missing, or not of this type')];
  const warnings = typeof given === 'string' ? notes(given) : [];
  return [value(given, longest), ...(warnings.length === 0 ? [] : [us(`  ! ${warnings.join(', ')}`)])];
}
