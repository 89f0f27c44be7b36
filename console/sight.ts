import type { Policy } from '../core/policy';
import { requesterCopy, type ApprovalRequest } from '../core/request';
import type { Requester } from '../core/requester';
import { askedOf, mayReview } from '../core/review';
import { isSelf } from '../core/reviewers';
import type { RequestRecord } from '../ledger/queries';
import type { Viewer } from './ports';

/** How much of a request somebody may see: all of it, what its requester may, or not even that it is there. */
export type Sight = 'everything' | 'asRequester' | 'nothing';

interface Subject {
  readonly request: ApprovalRequest | undefined;
  /** Who asked, where there is no request that says it. */
  readonly by?: Requester | null;
}

/** Operators see everything, reviewers what they are asked or would be on escalation, people what they stand behind. */
export function sightOf(viewer: Viewer, policy: Policy | null, { request, by }: Subject): Sight {
  if (viewer.isOperator) return 'everything';
  if (policy === null) return 'nothing';
  if (request !== undefined && mayReview(policy, request, viewer.name)) return 'everything';
  const requester = request?.requester ?? by ?? null;
  return requester !== null && isSelf(policy, viewer.name, requester) ? 'asRequester' : 'nothing';
}

export function shownTo(sight: Sight, record: RequestRecord): RequestRecord {
  return sight === 'everything' ? record : { ...record, request: requesterCopy(record.request) };
}

/** Whether the viewer is among those whom a request asks at the level that it has reached, or asked while it was open. */
export function isAskedNow(viewer: Viewer, policy: Policy | null, record: RequestRecord): boolean {
  if (policy === null) return false;
  const { request, standing } = record;
  if (standing.state !== 'pending') return mayReview(policy, request, viewer.name);
  if (askedOf({ ...record, decisions: [], policy })?.able.includes(viewer.name) === true) return true;
  return request.ask.steps.some(({ kind }) => kind === 'confirm') && isSelf(policy, viewer.name, request.requester);
}

/** Who asked for an operation or grant, as far as its row says: links of a chain stand in the request alone. */
export function requesterOf(
  row: { readonly requester: Pick<Requester, 'subject' | 'agent'> } | null,
): Requester | null {
  return row === null ? null : { ...row.requester, chain: [] };
}
