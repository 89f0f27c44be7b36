import { emergencyAsks, reviewWithinMs } from '../core/emergency';
import type { Ask } from '../core/evaluation';
import type { Policy } from '../core/policy';
import { askedOf, judgedFor, judgedInEmergency, notShown } from '../core/review';
import { emergencyReviewers, skippedApprovers } from '../core/retrospective';
import { eligibleReviewers } from '../core/reviewers';
import type { Judged } from '../core/judge-decision';
import type { EmergencyOffer, MayAnswer, OverdueReview, RequestView, Viewer } from './ports';

type Seen = Omit<RequestView, 'people' | 'mayAllow' | 'mayDeny' | 'emergencies'>;

/** A request as one viewer sees it: with what their own answer would be worth now. */
export function viewOf(viewer: Viewer, seen: Seen, overdue: OverdueReview | null): RequestView {
  const { policy } = seen;
  const people = policy === null ? null : askedOf({ ...seen, policy });
  const [mayAllow, mayDeny] = [mayAnswer(viewer, seen, 'allow'), mayAnswer(viewer, seen, 'deny')];
  return { ...seen, people, mayAllow, mayDeny, emergencies: offersOf(viewer, seen, overdue) };
}

function mayAnswer(viewer: Viewer, seen: Seen, answer: 'allow' | 'deny'): MayAnswer {
  const { policy, standing, nowMs } = seen;
  if (policy === null) return { ok: false, code: 'NO_POLICY', detail: 'no policy is active, so nobody may decide' };
  if (standing.state !== 'pending')
    return { ok: false, code: 'conflict', detail: `this revision is ${standing.state}, and nobody is asked any more` };
  return mayGive(
    seen,
    answer,
    judgedFor({ ...seen, policy }, answer, { reviewer: viewer.name, signIn: viewer.signIn, nowMs }),
  );
}

function mayGive({ request }: Seen, answer: 'allow' | 'deny', { code, detail, effect }: Judged): MayAnswer {
  if (effect === 'none') return { ok: false, code, detail };
  const hidden = answer === 'allow' ? notShown(request) : [];
  return hidden.length === 0 ? { ok: true } : { ok: false, code: 'NOT_SHOWN', detail: notShownText(hidden) };
}

function offersOf(viewer: Viewer, seen: Seen, overdue: OverdueReview | null): readonly EmergencyOffer[] {
  const { policy, request, standing } = seen;
  if (policy === null || standing.state !== 'pending') return [];
  const theirs = emergencyAsks(policy, request, request.ask).filter((ask) =>
    ask.steps.some((step) => step.kind === 'rule' && eligibleReviewers(policy, step.approvers).includes(viewer.name)),
  );
  return theirs.flatMap((ask) => offerOf(viewer, { ...seen, policy }, { ask, overdue }));
}

/** Nothing to somebody who stands behind the call: what they may not use is none of theirs. */
function offerOf(
  viewer: Viewer,
  seen: Seen & { readonly policy: Policy },
  { ask, overdue }: { readonly ask: Ask; readonly overdue: OverdueReview | null },
): readonly EmergencyOffer[] {
  const { policy, request, decisions, nowMs } = seen;
  const rule = ask.rule?.id ?? '';
  const blocking = overdue === null ? null : { id: overdue.grantId, dueAtMs: overdue.dueAtMs };
  const { name: reviewer, signIn } = viewer;
  const judged = judgedInEmergency(seen, rule, { reviewer, signIn, nowMs, overdue: blocking });
  if (judged.code === 'selfApproval') return [];
  const before = decisions.filter(({ revision, emergency }) => revision === request.revision && emergency === rule);
  const deciders = [...before.map((each) => each.reviewer), reviewer];
  return [
    {
      ...{ rule, ask, overdue },
      skipped: skippedApprovers(policy, request.ask),
      reviewers: emergencyReviewers(policy, { ask: request.ask, requester: request.requester, deciders }),
      reviewWithinMs: reviewWithinMs(policy, rule) ?? 0,
      may: mayGive(seen, 'allow', judged),
    },
  ];
}

/** Why an allow is off: the material fields that nobody can see. */
export function notShownText(names: readonly string[]): string {
  return `${names.join(', ')}: missing from the call, or not of the declared type; what cannot be shown cannot be allowed`;
}
