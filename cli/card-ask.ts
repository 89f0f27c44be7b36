import { emergencyAsks } from '../core/emergency';
import { EMERGENCY_MS } from '../core/grant';
import { describeStep } from '../core/judge-decision';
import type { Policy } from '../core/policy';
import { signInNeedText } from '../core/sign-in';
import type { ApprovalRequest } from '../core/request';
import { askedOf } from '../core/review';
import { eligibleReviewers } from '../core/reviewers';
import type { DecisionRecord, RequestRecord } from '../ledger/queries';
import type { Paint } from './paint';
import { brief, duration, relative, safe, validityText, when } from './text';

/** What a card is drawn from: the request as asked, its decisions, and the people as they are now. */
export interface CardView extends RequestRecord {
  readonly decisions: readonly DecisionRecord[];
  readonly policy: Policy | null;
  /** `namespace`: whoever reaches Temporal may decide under any name. Null where no policy is active. */
  readonly trust: 'signatures' | 'namespace' | null;
  readonly nowMs: number;
}

const LABEL_WIDTH = 12;

/** One line of a card: a label and what goes with it. */
export function line(label: string, text: string): readonly string[] {
  return [`${label.padEnd(LABEL_WIDTH)}${text}`];
}

/** Which rule asks whom, what an allow would permit, and until when. */
export function askLines(view: CardView, paint: Paint): readonly string[] {
  const { request, standing, nowMs } = view;
  const { ask } = request;
  const steps = safe(ask.steps.map(describeStep).join(', then '));
  return [
    ...line('rule', ruleText(request)),
    ...line('an allow', `permits ${validityText(ask.validity, ask.bind)}`),
    ...signInLines(request, paint),
    ...line('asked', `${steps}${view.policy === null ? '' : peopleText(view, view.policy)}`),
    ...escalationLines(request, standing),
    ...emergencyLines(view, paint),
    ...line('deadline', standing.state === 'pending' ? deadlineText(request, nowMs) : closedText(view)),
  ];
}

function signInLines({ ask: { signIn } }: ApprovalRequest, paint: Paint): readonly string[] {
  return signIn === undefined ? [] : line('sign-in', paint.yellow(safe(signInNeedText(signIn))));
}

function ruleText({ ask, policyVersion }: ApprovalRequest): string {
  const rule = ask.rule === null ? 'the runtime itself (confirm)' : `${safe(ask.rule.id)} @ ${brief(ask.rule.version)}`;
  const others = ask.matched.filter(({ id }) => id !== ask.rule?.id).map(({ id }) => safe(id));
  const also = others.length === 0 ? '' : `; also matched: ${others.join(', ')}`;
  return `${rule}${also}, policy ${policyVersion}`;
}

/** Who may allow by the people as they are now, and how many did; nobody may where the request is closed. */
function peopleText(view: CardView, policy: Policy): string {
  const asked = askedOf({ ...view, policy });
  if (asked === null) return '';
  const named = asked.able.length === 0 ? '' : ` (now: ${asked.able.map(safe).join(', ')})`;
  return `${named}${asked.needed === 0 ? '' : `; ${asked.allows} of ${asked.needed} so far`}`;
}

function escalationLines(
  { ask, openedAtMs }: ApprovalRequest,
  { state, level }: CardView['standing'],
): readonly string[] {
  const levels = state === 'pending' ? ask.escalate : ask.escalate.slice(0, level);
  return levels.flatMap(({ afterMs, to }, index) => {
    const who = [...to.groups, ...to.people].map(safe).join(', ');
    return line(index < level ? 'escalated' : 'escalates', `${when(openedAtMs + afterMs)} to ${who}`);
  });
}

/** What an emergency rule would let whom do, and that it is reviewed. */
function emergencyLines({ request, standing, policy }: CardView, paint: Paint): readonly string[] {
  if (standing.state !== 'pending' || policy === null) return [];
  return emergencyAsks(policy, request, request.ask).flatMap(({ rule, steps, validity, bind, signIn }) => {
    const [step] = steps.filter(({ kind }) => kind === 'rule');
    const people = step?.kind === 'rule' ? eligibleReviewers(policy, step.approvers).map(safe).join(', ') : '';
    const who = step === undefined ? '' : `${safe(describeStep(step))} (${people})`;
    const permits = `permits ${validityText(validity, bind)}, in ${duration(EMERGENCY_MS)} at most`;
    const needs = signIn === undefined ? '' : `; ${safe(signInNeedText(signIn))}`;
    return line(
      'emergency',
      `${paint.red(`rule ${safe(rule?.id ?? '')}`)}: ${who} may skip them; ${permits}${needs}; it is reviewed after`,
    );
  });
}

function deadlineText({ ask, deadlineAtMs }: ApprovalRequest, nowMs: number): string {
  const { then, remindEveryMs } = ask.deadline;
  const reminders = then === 'keepWaiting' ? `, with a reminder each ${duration(remindEveryMs ?? 0)}` : '';
  return `${when(deadlineAtMs)} (${relative(deadlineAtMs, nowMs)}), then it expires and is not executed${reminders}`;
}

function closedText({ request, standing }: CardView): string {
  const { closedAtMs, state } = standing;
  return `${when(request.deadlineAtMs)}${closedAtMs === null ? '' : `; ${state} ${when(closedAtMs)}`}`;
}
