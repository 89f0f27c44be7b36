import { latestSeq } from '../../ledger/changes';
import type { Ledger } from '../../ledger/ledger';
import { metricEvents } from '../../ledger/metric-events';
import { lastRecordBefore } from '../../ledger/metrics';
import { WINDOWS, type Reports, type ReportWindow } from './report';
import { ReviewsCount } from './reviews-report';
import { RulesCount } from './rules-report';

/** How long a report is shown again before it is counted anew. */
const CACHED_MS = 15_000;

export type ReadReports = (window: ReportWindow) => Promise<Reports>;

/** Both reports over a window that ends now, by one reading of what the audit says of it. */
export function createReports(
  ledger: Pick<Ledger, 'store' | 'activePolicy'>,
  elapsedMs: () => number = () => performance.now(),
): ReadReports {
  const kept = new Map<ReportWindow, { readonly reports: Promise<Reports>; readonly atMs: number }>();
  return (window) => {
    const known = kept.get(window);
    if (known !== undefined && elapsedMs() - known.atMs < CACHED_MS) return known.reports;
    const reports = readReports(ledger, window);
    kept.set(window, { reports, atMs: elapsedMs() });
    // What failed is read anew by the next one who asks.
    reports.catch(() => kept.delete(window));
    return reports;
  };
}

async function readReports(
  { store, activePolicy }: Pick<Ledger, 'store' | 'activePolicy'>,
  window: ReportWindow,
): Promise<Reports> {
  const { lengthMs, parts } = WINDOWS[window];
  const toMs = await store.nowMs();
  const fromMs = toMs - lengthMs;
  const [after, upTo] = [await lastRecordBefore(store.db, fromMs), await latestSeq(store.db)];
  const rules = new RulesCount({ fromMs, partMs: lengthMs / parts, parts });
  const reviews = new ReviewsCount();
  for await (const { events } of metricEvents(store.db, { after, upTo })) {
    for (const event of events) {
      rules.add(event);
      reviews.add(event);
    }
  }
  const policy = (await activePolicy())?.policy ?? null;
  return { window, fromMs, toMs, rules: rules.report(policy), reviews: reviews.report(policy) };
}
