import type { MetricEvent } from '../../ledger/metric-event';
import type { Labels, Sample } from './prometheus-text';

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;

/** Upper ends of the classes into which times to decide fall; a last class takes what is longer. */
export const LATENCY_BOUNDS_S: readonly number[] = [
  ...[5, 15, 30, MINUTE_S, 2 * MINUTE_S, 5 * MINUTE_S, 10 * MINUTE_S, 20 * MINUTE_S, 30 * MINUTE_S],
  ...[HOUR_S, 2 * HOUR_S, 4 * HOUR_S, 8 * HOUR_S, 24 * HOUR_S, 72 * HOUR_S],
];

/** How many of these times are in each class; what equals an upper end belongs below it. */
export function latencyClasses(waitsMs: readonly number[]): readonly number[] {
  const classes = [...LATENCY_BOUNDS_S, null].map(() => 0);
  for (const waitMs of waitsMs) addTo(classes, waitMs);
  return classes;
}

function addTo(classes: number[], waitMs: number): void {
  const found = LATENCY_BOUNDS_S.findIndex((boundS) => waitMs <= boundS * 1_000);
  const at = found === -1 ? LATENCY_BOUNDS_S.length : found;
  classes[at] = (classes[at] ?? 0) + 1;
}

interface Counted {
  readonly labels: Labels;
  readonly classes: number[];
  sumMs: number;
}

/** The times to decide by rule and answer, as a histogram of Prometheus. */
export class LatencyHistogram {
  readonly #counted = new Map<string, Counted>();

  add({ rule, answer, waitMs }: Extract<MetricEvent, { readonly type: 'decided' }>): void {
    const labels = { rule: rule ?? '', answer };
    const key = JSON.stringify(labels);
    const counted = this.#counted.get(key) ?? { labels, classes: [...latencyClasses([])], sumMs: 0 };
    this.#counted.set(key, counted);
    addTo(counted.classes, waitMs);
    counted.sumMs += waitMs;
  }

  samples(): readonly Sample[] {
    return [...this.#counted.values()].flatMap(samplesOf);
  }
}

function samplesOf({ labels, classes, sumMs }: Counted): readonly Sample[] {
  let total = 0;
  const buckets = classes.map((number, at): Sample => {
    total += number;
    return { suffix: '_bucket', labels: { ...labels, le: String(LATENCY_BOUNDS_S[at] ?? '+Inf') }, value: total };
  });
  const sum = { suffix: '_sum', labels, value: sumMs / 1_000 };
  return [...buckets, sum, { suffix: '_count', labels, value: total }];
}
