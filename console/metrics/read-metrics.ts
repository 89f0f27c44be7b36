import { latestSeq } from '../../ledger/changes';
import type { Ledger } from '../../ledger/ledger';
import { reasonOf } from '../../ledger/ledger-error';
import type { Log } from '../../ledger/log';
import { metricEvents } from '../../ledger/metric-events';
import { readGauges } from '../../ledger/metrics';
import { createCounters } from './counters';
import { gaugeFamilies } from './gauge-families';
import { prometheusText, type Family } from './prometheus-text';

/** How long an answer is given again: whoever asks more often costs nothing. */
const CACHED_MS = 5_000;

export interface ReadMetricsDeps {
  readonly ledger: Pick<Ledger, 'store' | 'activePolicy'>;
  readonly log: Log;
  /** A clock for how old an answer is; any that only goes on. */
  readonly elapsedMs?: () => number;
}

/**
 * Every metric as the text that a scraper reads. The first answer counts the whole audit, each further one only what came
 * since. Where the ledger is away it says so and gives no other number: to a scraper, what is missing is not zero.
 */
export function createMetricsReader({ ledger, log, elapsedMs = () => performance.now() }: ReadMetricsDeps) {
  const followed = followCounters(ledger);
  let last: { readonly text: Promise<string>; readonly atMs: number } | null = null;
  let reading = false;
  const read = async (): Promise<string> => {
    reading = true;
    try {
      return prometheusText([up(1), ...(await followed()), ...(await gaugesOf(ledger))]);
    } catch (error) {
      log.warn({ error: reasonOf(error) }, 'console.metricsFailed');
      return prometheusText([up(0)]);
    } finally {
      reading = false;
    }
  };
  return (): Promise<string> => {
    const isFresh = last !== null && (reading || elapsedMs() - last.atMs < CACHED_MS);
    if (last === null || !isFresh) last = { text: read(), atMs: elapsedMs() };
    return last.text;
  };
}

function up(value: 0 | 1): Family {
  const help = 'Whether the console could read the ledger; where it could not, no other metric is given.';
  return { name: 'holdpoint_ledger_up', help, type: 'gauge', samples: [{ labels: {}, value }] };
}

/** Counts on from where it was. A ledger that was put back to an earlier state is counted anew. */
function followCounters({ store }: ReadMetricsDeps['ledger']): () => Promise<readonly Family[]> {
  let counters = createCounters();
  let after = 0;
  return async () => {
    const head = await latestSeq(store.db);
    if (head < after) [counters, after] = [createCounters(), 0];
    for await (const { upTo, events } of metricEvents(store.db, { after, upTo: head })) {
      counters.add(events);
      after = upTo;
    }
    return counters.families();
  };
}

async function gaugesOf({ store, activePolicy }: ReadMetricsDeps['ledger']): Promise<readonly Family[]> {
  const nowMs = await store.nowMs();
  const policy = (await activePolicy())?.policy ?? null;
  return gaugeFamilies(await readGauges(store.db, { nowMs, policy }), nowMs);
}
