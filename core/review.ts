import type { Decision, SignInFact } from './decision';
import { emergencyAsks, judgeEmergency, type EmergencyCircumstances } from './emergency';
import type { Step } from './evaluation';
import { approversAt, judgeDecision, progressOf, type CountedDecision, type Judgement } from './judge-decision';
import type { Policy } from './policy';
import type { ApprovalRequest, RequestStanding } from './request';
import { eligibleReviewers, isSelf, personForSubject } from './reviewers';

/** A request as people look at it: as asked, where it stands, what counts so far, and the people as they are now. */
export interface Reviewed {
  readonly request: ApprovalRequest;
  readonly standing: RequestStanding;
  /** Of every revision. */
  readonly decisions: readonly (CountedDecision & { readonly revision: number })[];
  readonly policy: Policy;
}

/** Who may allow now, and how many did of how many the open step needs. */
export interface Asked {
  readonly able: readonly string[];
  readonly allows: number;
  readonly needed: number;
}

/** By the people as they are now; null where nobody is asked any more. */
export function askedOf(reviewed: Reviewed): Asked | null {
  if (reviewed.standing.state !== 'pending') return null;
  const judgement = judgementOf(reviewed);
  const { ask, requester, policy } = judgement;
  const able = ask.steps.flatMap((step) => {
    if (step.kind === 'confirm') return [];
    const approvers = approversAt(judgement, step);
    return step.selfApproval ? approvers : approvers.filter((name) => !isSelf(policy, name, requester));
  });
  return { able: [...new Set(able)], ...(progressOf(judgement) ?? { allows: 0, needed: 0 }) };
}

/** Who would answer in the console, and what it could attest of their sign-in. */
export interface Answering {
  readonly reviewer: string;
  readonly signIn?: SignInFact | undefined;
  readonly nowMs: number;
}

/** What an answer of this person would be worth at `nowMs`, by the ledger's own rules. */
export function judgedFor(reviewed: Reviewed, answer: Decision['answer'], at: Answering) {
  const { operationId, revision, bindingDigest: digest } = reviewed.request;
  const { reviewer, signIn, nowMs } = at;
  const decision = {
    v: 1,
    decisionId: '',
    operationId,
    revision,
    digest,
    answer,
    reviewer,
    ...(signIn !== undefined && { signIn }),
    channel: 'console',
  } as const;
  return judgeDecision(judgementOf(reviewed), decision, { signature: 'vouched', nowMs });
}

/** What an allow of this person under an emergency rule would be worth, complete with ticket and reason. */
export function judgedInEmergency(
  reviewed: Reviewed,
  rule: string,
  at: Answering & Pick<EmergencyCircumstances, 'overdue'>,
) {
  const { operationId, revision, bindingDigest: digest } = reviewed.request;
  const { reviewer, signIn, nowMs, overdue } = at;
  const emergency = { rule, ticket: '-' };
  const asked = { v: 1, decisionId: '', operationId, revision, digest, answer: 'allow' } as const;
  const attested = signIn === undefined ? {} : { signIn };
  const decision = { ...asked, ...attested, reviewer, reason: '-', emergency, channel: 'console' } as const;
  const facts = reviewed.request;
  return judgeEmergency(judgementOf(reviewed), decision, { signature: 'vouched', nowMs, facts, overdue }).judged;
}

/** Whether a person is asked about a request, or would be on escalation or in an emergency. */
export function mayReview(policy: Policy, request: ApprovalRequest, person: string): boolean {
  const { ask } = request;
  const asks = (step: Step) =>
    step.kind === 'rule'
      ? eligibleReviewers(policy, step.approvers).includes(person)
      : personForSubject(policy, step.subject)?.name === person;
  return (
    ask.steps.some(asks) ||
    ask.escalate.some(({ to }) => eligibleReviewers(policy, to).includes(person)) ||
    emergencyAsks(policy, request, ask).some(({ steps }) => steps.some(asks))
  );
}

/** The names of material fields that cannot be shown; what cannot be shown cannot be allowed. */
export function notShown({ material }: ApprovalRequest): readonly string[] {
  return material.filter(({ found }) => !found).map(({ name }) => name);
}

function judgementOf({ request, standing, decisions, policy }: Reviewed): Judgement {
  const { ask, requester, revision, openedAtMs, deadlineAtMs, bindingDigest: digest } = request;
  const { state, level } = standing;
  return {
    life: {
      // Only the latest revision is superseded by none, and an earlier one is stale to any decision.
      status: state === 'superseded' ? 'refused' : state,
      ...{ revision, digest, openedAtMs, deadlineAtMs, level, schedule: ask },
      dueAtMs: standing.dueAtMs ?? deadlineAtMs,
    },
    ...{ ask, requester, policy, trust: 'signatures' },
    counted: decisions.filter((decision) => decision.revision === revision),
  };
}
