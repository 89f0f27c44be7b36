import type { Policy } from '../core/policy';
import { emergencyReviewers } from '../core/retrospective';
import { maySecondReview, secondReviewShareOf } from '../core/second-review';
import { listRetrospectives, overdueRetrospective, type RetrospectiveRecord } from '../ledger/retrospective-queries';
import { sampledDecisions } from '../ledger/second-reviews';
import type { Deciding } from './decide';
import type { OverdueReview, Reviews, RetrospectivesView, SecondReviewsView, Viewer } from './ports';
import { sightOf } from './sight';

/** How far back the sample of decisions reaches. */
const SAMPLED_MS = 30 * 86_400_000;

/** What people say later of what was decided: reviews of emergencies, and blind second reviews. */
export function secondLooks(
  deps: Deciding,
): Pick<Reviews, 'retrospectives' | 'closeRetrospective' | 'secondReviews' | 'giveSecondReview'> {
  const by = ({ name }: Viewer) => ({ by: name, verified: true });
  return {
    retrospectives: (viewer, { all }) => retrospectives(deps, viewer, all),
    closeRetrospective: async (viewer, review) => {
      const { emergencies } = await retrospectives(deps, viewer, true);
      if (!emergencies.some(({ grantId }) => grantId === review.grantId)) return null;
      return deps.ledger.closeRetrospective({ ...review, ...by(viewer) });
    },
    secondReviews: (viewer) => secondReviews(deps, viewer),
    giveSecondReview: (viewer, given) => deps.ledger.giveSecondReview({ ...given, ...by(viewer) }),
  };
}

async function retrospectives({ ledger }: Deciding, viewer: Viewer, all: boolean): Promise<RetrospectivesView> {
  const { store } = ledger;
  const policy = (await ledger.activePolicy())?.policy ?? null;
  const mayReview = ({ closed, request, deciders }: RetrospectiveRecord): boolean =>
    closed === null && policy !== null && emergencyReviewers(policy, { ...request, deciders }).includes(viewer.name);
  const open = await listRetrospectives(store.db);
  // Those that are open come whole: what waits for somebody is never beyond the end of the list.
  const closed = all ? (await listRetrospectives(store.db, { all })).filter((each) => each.closed !== null) : [];
  const emergencies = [...open, ...closed.sort((a, b) => (b.closed?.atMs ?? 0) - (a.closed?.atMs ?? 0))]
    .filter((emergency) => seesEmergency(viewer, policy, emergency))
    .map((emergency) => ({
      ...emergency,
      mayReview: mayReview(emergency),
      mayRead: mayRead(viewer, policy, emergency),
    }));
  return { emergencies, nowMs: await store.nowMs() };
}

function mayRead(viewer: Viewer, policy: Policy | null, { request }: Pick<RetrospectiveRecord, 'request'>): boolean {
  return sightOf(viewer, policy, { request }) !== 'nothing';
}

/** Who may see its request, and who allowed it, whatever groups they are in since. */
function seesEmergency(viewer: Viewer, policy: Policy | null, { request, deciders }: RetrospectiveRecord): boolean {
  return deciders.includes(viewer.name) || sightOf(viewer, policy, { request }) === 'everything';
}

/** The review that keeps every next emergency from being allowed; null where none does. */
export async function overdueReview({ ledger }: Deciding, viewer: Viewer): Promise<OverdueReview | null> {
  const { store } = ledger;
  const overdue = await overdueRetrospective(store.db, await store.nowMs());
  if (overdue === null) return null;
  const { id: grantId, dueAtMs } = overdue;
  const policy = (await ledger.activePolicy())?.policy ?? null;
  const found = (await listRetrospectives(store.db)).find((each) => each.grantId === grantId);
  return { grantId, dueAtMs, isTheirs: found !== undefined && seesEmergency(viewer, policy, found) };
}

async function secondReviews({ ledger }: Deciding, viewer: Viewer): Promise<SecondReviewsView> {
  const { store } = ledger;
  const nowMs = await store.nowMs();
  const policy = (await ledger.activePolicy())?.policy ?? null;
  if (policy === null) return { open: [], done: [], nowMs };
  const share = secondReviewShareOf(policy);
  const sample = await sampledDecisions(store.db, { share, sinceMs: nowMs - SAMPLED_MS });
  const theirs = sample.filter((decision) => maySecondReview(policy, viewer.name, decision));
  return {
    open: theirs.filter(({ second }) => second === null).map(({ request }) => request),
    done: sample
      .filter(({ second }) => second !== null && (second.by === viewer.name || viewer.isOperator))
      .map((decision) => ({ ...decision, mayRead: mayRead(viewer, policy, decision) })),
    nowMs,
  };
}
