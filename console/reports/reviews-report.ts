import type { Policy } from '../../core/policy';
import type { MetricEvent } from '../../ledger/metric-event';
import { LATENCY_BOUNDS_S, latencyClasses } from '../metrics/latency';
import type { GroupLine, ReviewsReport } from './report';

type Decided = Pick<Extract<MetricEvent, { readonly type: 'decided' }>, 'answer' | 'channel' | 'reviewer' | 'waitMs'>;

/** Fewer people, and a number of the group would be a number of one of them. */
const FEWEST_PEOPLE = 3;

/** Counts the decisions of a window. Who gave one is only kept to know the groups, and to leave small ones out. */
export class ReviewsCount {
  readonly #decided: Decided[] = [];

  add(event: MetricEvent): void {
    if (event.type !== 'decided') return;
    const { answer, channel, reviewer, waitMs } = event;
    this.#decided.push({ answer, channel, reviewer, waitMs });
  }

  report(policy: Policy | null): ReviewsReport {
    const all = this.#decided;
    const groups = byGroup(all, policy);
    const isSmall = (decided: readonly Decided[]) =>
      new Set(decided.map(({ reviewer }) => reviewer)).size < FEWEST_PEOPLE;
    const denied = deniedOf(all);
    const waits = waitsOf(all);
    return {
      ...{ allowed: all.length - denied, denied },
      ...{ p50Ms: percentile(waits, 50), p95Ms: percentile(waits, 95) },
      classes: latencyClasses(waits).map((count, at) => {
        const boundS = LATENCY_BOUNDS_S[at];
        return { upToMs: boundS === undefined ? null : boundS * 1_000, count };
      }),
      groups: groups.flatMap(([group, decided]) => (isSmall(decided) ? [] : [groupLine(group, decided)])),
      smallGroups: groups.flatMap(([group, decided]) => (isSmall(decided) ? [group] : [])),
      channels: channelsOf(all),
    };
  }
}

/** By groups of the active policy, in the order of their names; who is not listed any more is in none. */
function byGroup(all: readonly Decided[], policy: Policy | null): readonly (readonly [string, readonly Decided[]])[] {
  const groups = new Map<string, Decided[]>();
  const people = new Map(Object.values(policy?.people ?? {}).map((person) => [person.name, person.groups]));
  for (const decided of all) {
    for (const group of people.get(decided.reviewer) ?? []) {
      const own = groups.get(group) ?? [];
      own.push(decided);
      groups.set(group, own);
    }
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
}

function groupLine(group: string, decided: readonly Decided[]): GroupLine {
  const waits = waitsOf(decided);
  const [p50Ms, p95Ms] = [percentile(waits, 50) ?? 0, percentile(waits, 95) ?? 0];
  return { group, decisions: decided.length, denied: deniedOf(decided), p50Ms, p95Ms };
}

function channelsOf(all: readonly Decided[]): ReviewsReport['channels'] {
  const counts = new Map<string, number>();
  for (const { channel } of all) counts.set(channel, (counts.get(channel) ?? 0) + 1);
  const channels = [...counts].map(([channel, count]) => ({ channel, count }));
  return channels.sort((a, b) => b.count - a.count || (a.channel < b.channel ? -1 : 1));
}

function deniedOf(decided: readonly Decided[]): number {
  return decided.filter(({ answer }) => answer === 'deny').length;
}

function waitsOf(decided: readonly Decided[]): readonly number[] {
  return decided.map(({ waitMs }) => waitMs).sort((a, b) => a - b);
}

/** The value that so many of 100 do not exceed (nearest rank): one that really occurred. */
function percentile(sorted: readonly number[], percent: number): number | null {
  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? null;
}
