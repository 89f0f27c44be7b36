import type { MetricEvent } from '../../ledger/metric-event';
import { COUNTERS, LATENCY, type CounterName } from './families';
import { incrementsOf } from './increments';
import { LatencyHistogram } from './latency';
import type { Family, Labels, Sample } from './prometheus-text';

/** Totals since the ledger was made. They only ever rise, and are the same in every console that reads the ledger. */
export interface Counters {
  add(events: readonly MetricEvent[]): void;
  families(): readonly Family[];
}

export function createCounters(): Counters {
  const totals = new Map<string, { readonly name: CounterName; readonly labels: Labels; value: number }>();
  const latency = new LatencyHistogram();
  const add = (event: MetricEvent): void => {
    for (const { name, labels, by } of incrementsOf(event)) {
      const key = JSON.stringify([name, labels]);
      const total = totals.get(key) ?? { name, labels, value: 0 };
      totals.set(key, total);
      total.value += by;
    }
    if (event.type === 'decided') latency.add(event);
  };
  const samplesOf = (name: CounterName): readonly Sample[] =>
    [...totals.values()].flatMap((total) =>
      total.name === name ? [{ labels: total.labels, value: total.value }] : [],
    );
  return {
    add: (events) => events.forEach(add),
    families: () => [
      ...COUNTERS.map(({ name, help }): Family => ({ name, help, type: 'counter', samples: samplesOf(name) })),
      { ...LATENCY, type: 'histogram', samples: latency.samples() },
    ],
  };
}
