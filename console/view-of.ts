import { askedOf, judgedFor, notShown } from '../core/review';
import type { MayAnswer, RequestView, Viewer } from './ports';

/** A request as one viewer sees it: with what their own answer would be worth now. */
export function viewOf(viewer: Viewer, seen: Omit<RequestView, 'people' | 'mayAllow' | 'mayDeny'>): RequestView {
  const { policy } = seen;
  const people = policy === null ? null : askedOf({ ...seen, policy });
  return { ...seen, people, mayAllow: mayAnswer(viewer, seen, 'allow'), mayDeny: mayAnswer(viewer, seen, 'deny') };
}

function mayAnswer(
  viewer: Viewer,
  seen: Omit<RequestView, 'people' | 'mayAllow' | 'mayDeny'>,
  answer: 'allow' | 'deny',
): MayAnswer {
  const { policy, standing, request, nowMs } = seen;
  if (policy === null) return { ok: false, code: 'NO_POLICY', detail: 'no policy is active, so nobody may decide' };
  if (standing.state !== 'pending')
    return { ok: false, code: 'conflict', detail: `this revision is ${standing.state}, and nobody is asked any more` };
  const { code, detail, effect } = judgedFor({ ...seen, policy }, answer, { reviewer: viewer.name, nowMs });
  if (effect === 'none') return { ok: false, code, detail };
  const hidden = answer === 'allow' ? notShown(request) : [];
  return hidden.length === 0 ? { ok: true } : { ok: false, code: 'NOT_SHOWN', detail: notShownText(hidden) };
}

/** Why an allow is off: the material fields that nobody can see. */
export function notShownText(names: readonly string[]): string {
  return `${names.join(', ')}: missing from the call, or not of the declared type; what cannot be shown cannot be allowed`;
}
