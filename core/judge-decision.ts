import type { CallLife } from './call';
import type { Decision, VerdictCode } from './decision';
import type { Ask, Step } from './evaluation';
import { widens } from './grant';
import type { Policy, Validity } from './policy';
import type { Requester } from './requester';
import { signInRefusal } from './sign-in';
import { eligibleReviewers, isSelf, personForSubject, personOf } from './reviewers';
import { unreachable } from './unreachable';

/** A decision on record that counts. */
export interface CountedDecision {
  readonly decisionId: string;
  readonly reviewer: string;
  readonly answer: 'allow' | 'deny';
  readonly verified: boolean;
  /** The shorter hold that the reviewer gave; null where they left the rule's. */
  readonly minutes: number | null;
  /** The emergency rule under which it allows; null where it answers what the request asks. */
  readonly emergency: string | null;
}

/**
 * `vouched`: by a key of the console, which signed the reviewer in; `invalid`: by neither that nor a key that the policy
 * lists for the reviewer, also where it lists none.
 */
export type SignatureCheck = 'valid' | 'vouched' | 'invalid' | 'absent';

/** Whether a signature proves who decided. */
export function isProof(signature: SignatureCheck): boolean {
  return signature === 'valid' || signature === 'vouched';
}

/** What a decision is judged by: the request as asked, the people as they are now. */
export interface Judgement {
  readonly life: CallLife;
  readonly ask: Ask;
  readonly requester: Requester;
  readonly policy: Policy;
  readonly trust: 'signatures' | 'namespace';
  readonly counted: readonly CountedDecision[];
  /** Where a window that other decisions allowed has answered the request. */
  readonly coveredBy?: { readonly grantId: string; readonly deciders: readonly string[] };
}

export interface Judged {
  readonly code: VerdictCode;
  readonly detail: string;
  /** What the decision does to the request: nothing, one more allow, or its end. */
  readonly effect: 'none' | 'count' | 'allow' | 'deny';
}

/**
 * What one decision is worth. Who speaks is judged first, so a stranger learns nothing of the request; then whether the
 * decision is about what is open; then whether it may allow. A person counts once; one deny closes.
 */
export function judgeDecision(
  judgement: Judgement,
  decision: Decision,
  at: { signature: SignatureCheck; nowMs: number },
): Judged {
  return (
    judgeSpeaker(judgement, decision, at.signature) ??
    judgeStanding(judgement, decision, at.nowMs) ??
    (decision.answer === 'deny' ? ended('deny', DENIED) : judgeAllow(judgement, decision, at))
  );
}

/** Who may not speak, or does so without proof; null where they may. */
export function judgeSpeaker(judgement: Judgement, decision: Decision, signature: SignatureCheck): Judged | null {
  const { reviewer } = decision;
  const stranger = none('notAReviewer', `${reviewer} is not an approver of this request`);
  const serving = servedSteps(judgement, reviewer).length > 0;
  const person = personOf(judgement.policy, reviewer);
  if (person === null && !serving) return stranger;
  const hasKeys = (person?.keys ?? []).length > 0;
  // Where unsigned decisions count, a signature that nothing can be checked against makes one worth no less.
  const unsigned = signature === 'absent' || !hasKeys;
  const counts = isProof(signature) || (judgement.trust === 'namespace' && unsigned);
  if (!counts) return none('badSignature', signature === 'absent' ? UNSIGNED : badSignatureDetail(reviewer, hasKeys));
  return serving ? null : stranger;
}

const UNSIGNED = 'an unsigned decision does not count here; sign it (holdpoint allow --key FILE)';

function badSignatureDetail(reviewer: string, hasKeys: boolean): string {
  if (!hasKeys)
    return `the active policy lists no key of ${reviewer}; add the public half of the signing key to people, and apply it`;
  return `the signature is not by a key of ${reviewer}, nor of the console; sign with one that the active policy lists, or add the public half of this one to people, or to console where the console signed`;
}

/** What is not about what is open, or was answered before; null where it is open. */
export function judgeStanding(judgement: Judgement, decision: Decision, nowMs: number): Judged | null {
  const { life, counted } = judgement;
  if (decision.revision !== life.revision || decision.digest !== life.digest) {
    return none('stale', `revision ${life.revision} with another content is the latest; read it before deciding`);
  }
  const own = counted.find((earlier) => earlier.reviewer === decision.reviewer && earlier.answer === decision.answer);
  if (own !== undefined) {
    const { minutes = null, emergency } = decision;
    if (own.minutes === minutes && own.emergency === (emergency?.rule ?? null))
      return none('accepted', detailAgain(own, life));
    if (own.emergency !== (emergency?.rule ?? null))
      return none('conflict', `${decision.reviewer}'s ${own.answer} is on record ${underRule(own)}; that stands`);
    return none(
      'conflict',
      `${decision.reviewer}'s ${own.answer} is on record with ${own.minutes ?? "the rule's"} minutes; that stands`,
    );
  }
  if (life.status === 'expired') return none('late', 'the deadline has passed; nothing was executed');
  if (life.status === 'pending')
    return nowMs >= life.deadlineAtMs ? none('late', 'the deadline has passed; nothing was executed') : null;
  const closing =
    life.status === 'denied' ? 'deny' : life.status === 'withdrawn' || life.status === 'refused' ? null : 'allow';
  if (closing === decision.answer)
    return none('alreadyDecided', `${namesOf(judgement, closing)} gave the same answer before`);
  return none(
    'conflict',
    `the request is ${life.status}${closing === null ? '' : ` by ${namesOf(judgement, closing)}`}; that stands`,
  );
}

/** Whether an allow of somebody who may speak counts; the sign-in last, so that nobody signs in again for nothing. */
export function judgeAllow(
  judgement: Judgement,
  decision: Decision,
  { signature, nowMs }: { signature: SignatureCheck; nowMs: number },
): Judged {
  const { ask, requester, policy } = judgement;
  const served = servedSteps(judgement, decision.reviewer);
  const self = isSelf(policy, decision.reviewer, requester);
  const barred = self && served.every((step) => step.kind === 'rule' && !step.selfApproval);
  if (barred) return none('selfApproval', `${decision.reviewer} stands behind the request and cannot allow it`);
  if (widens(ask.validity, decision.minutes ?? null)) {
    return none('cannotWiden', `a reviewer can shorten what the rule gives, not widen it: ${givenBy(ask.validity)}`);
  }
  const current = openSteps(judgement, judgement.counted)[0];
  if (current !== undefined && !serves(judgement, current, decision.reviewer)) {
    return none('notAReviewer', `this request first waits for ${describeStep(current)}`);
  }
  const signIn = signInRefusal(ask.signIn, { signature, signIn: decision.signIn, nowMs });
  if (signIn !== null) return none('signInNeeded', signIn);
  const next = {
    decisionId: decision.decisionId,
    reviewer: decision.reviewer,
    answer: 'allow',
    verified: true,
    minutes: decision.minutes ?? null,
    emergency: decision.emergency?.rule ?? null,
  } as const;
  if (openSteps(judgement, [...judgement.counted, next]).length > 0) {
    return { code: 'accepted', detail: COUNTED, effect: 'count' };
  }
  return ended('allow', ALLOWED);
}

const ALLOWED = 'allowed';
const DENIED = 'denied; this request is closed';
const COUNTED = 'allow counted; more approvals are needed';

function underRule({ emergency }: CountedDecision): string {
  return emergency === null ? 'as an ordinary one' : `under emergency rule ${emergency}`;
}

/** The same decision again gets the same answer, to the letter, while what it did still stands. */
function detailAgain({ answer }: CountedDecision, { status }: CallLife): string {
  if (answer === 'deny') return DENIED;
  if (status === 'pending') return COUNTED;
  return status === 'allowed' ? ALLOWED : `this decision was counted; the request is ${status}`;
}

/** The steps that `counted` leaves open, judged by the people as they are now. */
export function openSteps(
  judgement: Omit<Judgement, 'counted' | 'trust'>,
  counted: readonly CountedDecision[],
): readonly Step[] {
  const allows = allowsUnder(judgement.ask, counted);
  return judgement.ask.steps.filter((step) => {
    const served = allows.filter((reviewer) => serves(judgement, step, reviewer)).length;
    return served < quorumOf(step);
  });
}

/** Who allowed, each once. An allow under an emergency rule answers that rule alone, and no other answers it. */
function allowsUnder({ emergency, rule }: Ask, counted: readonly CountedDecision[]): readonly string[] {
  const under = emergency ? (rule?.id ?? null) : null;
  const allows = counted.filter((decision) => decision.answer === 'allow' && decision.emergency === under);
  return [...new Set(allows.map(({ reviewer }) => reviewer))];
}

/** Allows counted in the first open step, and how many it needs; null when no step is open. */
export function progressOf(
  judgement: Omit<Judgement, 'trust'>,
): { readonly allows: number; readonly needed: number } | null {
  const step = openSteps(judgement, judgement.counted)[0];
  if (step === undefined) return null;
  const allows = allowsUnder(judgement.ask, judgement.counted);
  return { allows: allows.filter((reviewer) => serves(judgement, step, reviewer)).length, needed: quorumOf(step) };
}

/** Whether enough people are left who could still allow each step, at the level that the request has reached. */
export function enoughReviewers(judgement: Omit<Judgement, 'counted' | 'trust'>, trust: Judgement['trust']): boolean {
  return judgement.ask.steps.every((step) => {
    if (step.kind === 'confirm')
      return trust === 'namespace' || personForSubject(judgement.policy, step.subject) !== null;
    const able = approversAt(judgement, step).filter(
      (reviewer) => step.selfApproval || !isSelf(judgement.policy, reviewer, judgement.requester),
    );
    return able.length >= step.approvers.quorum;
  });
}

/** Everybody who may decide a rule's step now: its approvers and those of every escalation level reached. */
export function approversAt(
  judgement: Pick<Judgement, 'policy' | 'ask' | 'life'>,
  step: Step & { kind: 'rule' },
): readonly string[] {
  const reached = judgement.ask.escalate.slice(0, judgement.life.level);
  const sets = [step.approvers, ...reached.map((level) => level.to)];
  return [...new Set(sets.flatMap((approvers) => eligibleReviewers(judgement.policy, approvers)))];
}

function servedSteps(judgement: Judgement, reviewer: string): readonly Step[] {
  return judgement.ask.steps.filter((step) => mayDecide(judgement, step, reviewer));
}

/** Counts for the step: may decide it, and is not barred as the requester's own human. */
function serves(judgement: Omit<Judgement, 'counted' | 'trust'>, step: Step, reviewer: string): boolean {
  if (!mayDecide(judgement, step, reviewer)) return false;
  return step.kind === 'confirm' || step.selfApproval || !isSelf(judgement.policy, reviewer, judgement.requester);
}

function mayDecide(judgement: Pick<Judgement, 'policy' | 'ask' | 'life'>, step: Step, reviewer: string): boolean {
  switch (step.kind) {
    case 'confirm':
      return reviewer === step.subject || personForSubject(judgement.policy, step.subject)?.name === reviewer;
    case 'rule':
      return approversAt(judgement, step).includes(reviewer);
    default:
      return unreachable(step);
  }
}

function givenBy(validity: Validity): string {
  if (validity.kind === 'once') return 'it gives this one call and no window, so leave the minutes out';
  return `it gives ${(validity.durationMs ?? 0) / 60_000} minutes at most`;
}

function quorumOf(step: Step): number {
  return step.kind === 'confirm' ? 1 : step.approvers.quorum;
}

/** The step in words, for messages and cards. */
export function describeStep(step: Step): string {
  if (step.kind === 'confirm') return `${step.subject}'s own confirmation`;
  const { groups, people, quorum } = step.approvers;
  return `${quorum} of ${[...groups, ...people].join(', ')}`;
}

function namesOf({ counted, coveredBy }: Judgement, answer: 'allow' | 'deny'): string {
  if (coveredBy !== undefined) return `${coveredBy.deciders.join(', ')} (by grant ${coveredBy.grantId})`;
  return counted
    .filter((decision) => decision.answer === answer)
    .map((decision) => decision.reviewer)
    .join(', ');
}

/** A verdict that changes nothing. */
export function none(code: VerdictCode, detail: string): Judged {
  return { code, detail, effect: 'none' };
}

function ended(effect: 'allow' | 'deny', detail: string): Judged {
  return { code: 'accepted', detail, effect };
}
