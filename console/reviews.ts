import { latestGrants, liveGrants } from '../ledger/grant-queries';
import { latestRequests, operationsPage, requestsPage } from '../ledger/pages';
import { decisionsOn, factsOf, operationRecord, revisionsOf, type RequestRecord } from '../ledger/queries';
import { exportAudit } from '../ledger/audit-export';
import { findOperation } from '../ledger/find-operation';
import { decide, type Deciding } from './decide';
import { gather } from './gather';
import type { GrantsView, OperationsQuery, OperationView, QueueQuery, RequestView, Reviews, Viewer } from './ports';
import { createReports } from './reports/create-reports';
import { isAskedNow, requesterOf, shownTo, sightOf } from './sight';
import { overdueReview, secondLooks } from './second-looks';
import { viewOf } from './view-of';

/** What people may see and do of the ledger: the same for pages and API. */
export function createReviews(deps: Deciding): Reviews {
  const { ledger } = deps;
  const reports = createReports(ledger);
  return {
    queue: (viewer, query) => queue(deps, viewer, query),
    request: (viewer, id, revision) => request(deps, viewer, { id, revision }),
    concerns: async (viewer, operationId) => viewer.isOperator || (await seen(deps, viewer, operationId)) !== null,
    decide: (viewer, given) => decide(deps, viewer, given),
    operations: (viewer, query) => operations(deps, viewer, query),
    operation: (viewer, id) => operation(deps, viewer, id),
    settle: async (viewer, settlement) =>
      viewer.isOperator ? ledger.settle({ ...settlement, by: viewer.name, verified: true }) : null,
    reportReversal: async (viewer, reversal) =>
      viewer.isOperator ? ledger.reportReversal({ ...reversal, by: viewer.name, verified: true }) : null,
    auditExport: (viewer) => (viewer.isOperator ? exportAudit(ledger.store) : null),
    grants: (viewer, { all }) => grants(deps, viewer, all),
    revokeGrant: async (viewer, revocation) =>
      viewer.isOperator ? ledger.revokeGrant({ ...revocation, by: viewer.name, verified: true }) : null,
    ...secondLooks(deps),
    reports: async (viewer, window) => (viewer.isOperator ? reports(window) : null),
  };
}

/** What of one operation the viewer may see. */
export interface Seen extends Pick<RequestView, 'operation' | 'policy'> {
  readonly operationId: string;
  /** Of the short id that was given; null where the id names no revision. */
  readonly revision: number | null;
  readonly revisions: readonly RequestRecord[];
}

async function seen({ ledger }: Deciding, viewer: Viewer, id: string): Promise<Seen | null> {
  const { db } = ledger.store;
  const found = await findOperation(db, id);
  if (found.kind !== 'one') return null;
  const { operationId, revision } = found.match;
  const [active, revisions, sent] = await Promise.all([
    ledger.activePolicy(),
    revisionsOf(db, operationId),
    operationRecord(db, operationId),
  ]);
  const policy = active?.policy ?? null;
  const sight = sightOf(viewer, policy, { request: revisions.at(-1)?.request, by: requesterOf(sent) });
  if (sight === 'nothing') return null;
  return { operationId, revision, policy, revisions: revisions.map((each) => shownTo(sight, each)), operation: sent };
}

async function queue(
  { ledger }: Deciding,
  viewer: Viewer,
  { mine = false, cursor, limit, ...filter }: QueueQuery,
): ReturnType<Reviews['queue']> {
  const { store } = ledger;
  const policy = (await ledger.activePolicy())?.policy ?? null;
  const page = await gather({
    ...{ list: `requests/${filter.state ?? 'pending'}`, cursor, limit },
    read: (from) => requestsPage(store.db, filter, from),
    keep: ({ item }) => {
      const sight = sightOf(viewer, policy, item);
      if (sight === 'nothing') return null;
      return mine && !isAskedNow(viewer, policy, item) ? null : shownTo(sight, item);
    },
  });
  return { ...page, nowMs: await store.nowMs() };
}

async function request(
  deps: Deciding,
  viewer: Viewer,
  { id, revision }: { readonly id: string; readonly revision: number | undefined },
): Promise<RequestView | null> {
  const found = await seen(deps, viewer, id);
  if (found === null) return null;
  const wanted = revision ?? found.revision;
  const exact = found.revisions.find((record) => record.request.revision === wanted);
  const record = revision === undefined ? (exact ?? found.revisions.at(-1)) : exact;
  if (record === undefined) return null;
  const { store } = deps.ledger;
  const [decisions, nowMs] = [await decisionsOn(store.db, found.operationId), await store.nowMs()];
  const { policy, operation: sent } = found;
  const latestRevision = found.revisions.at(-1)?.request.revision ?? record.request.revision;
  const overdue = await overdueReview(deps, viewer);
  return viewOf(viewer, { ...record, ...{ decisions, nowMs, policy, latestRevision, operation: sent } }, overdue);
}

async function operations({ ledger }: Deciding, viewer: Viewer, { state, cursor, limit }: OperationsQuery) {
  const { db } = ledger.store;
  const policy = (await ledger.activePolicy())?.policy ?? null;
  return gather({
    ...{ list: `operations/${state ?? 'all'}`, cursor, limit },
    read: async (from) => {
      const placed = await operationsPage(db, state ?? null, from);
      const ids = viewer.isOperator ? [] : placed.map(({ item }) => item.operationId);
      const requests = await latestRequests(db, ids);
      return placed.map((row) => ({ ...row, request: requests.get(row.item.operationId)?.request }));
    },
    keep: ({ item, request: asked }) =>
      sightOf(viewer, policy, { request: asked, by: requesterOf(item) }) === 'nothing' ? null : item,
  });
}

async function operation(deps: Deciding, viewer: Viewer, id: string): Promise<OperationView | null> {
  const found = await seen(deps, viewer, id);
  if (found === null) return null;
  const { store } = deps.ledger;
  const { operationId, revisions, operation: sent } = found;
  const [decisions, facts] = await Promise.all([decisionsOn(store.db, operationId), factsOf(store.db, operationId)]);
  return { operationId, operation: sent, revisions, decisions, facts, nowMs: await store.nowMs() };
}

async function grants({ ledger }: Deciding, viewer: Viewer, all: boolean): Promise<GrantsView> {
  const { store } = ledger;
  const policy = (await ledger.activePolicy())?.policy ?? null;
  const nowMs = await store.nowMs();
  const found = await (all ? latestGrants(store.db) : liveGrants(store.db, nowMs, policy));
  const ids = viewer.isOperator ? [] : found.map(({ operationId }) => operationId);
  const requests = await latestRequests(store.db, ids);
  const visible = found.filter((grant) => {
    const asked = requests.get(grant.operationId)?.request;
    return sightOf(viewer, policy, { request: asked, by: requesterOf(grant) }) !== 'nothing';
  });
  return { grants: visible, policy, nowMs };
}
