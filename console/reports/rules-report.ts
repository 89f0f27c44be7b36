import type { Policy } from '../../core/policy';
import type { MetricEvent } from '../../ledger/metric-event';
import type { RequestCounts, RuleLine, RulesPart, RulesReport, RuleSign, ToolLine } from './report';

type Counts = { -readonly [Name in keyof RequestCounts]: RequestCounts[Name] };

interface Line extends Counts {
  readonly rule: string | null;
  readonly server: string;
  readonly tool: string;
  readonly causes: Map<string, number>;
}

type ToolCounts = { -readonly [Name in keyof ToolLine]: ToolLine[Name] };
type PartCounts = { -readonly [Name in keyof RulesPart]: RulesPart[Name] };

/** Where the window begins, and the length of its parts. */
export interface Parts {
  readonly fromMs: number;
  readonly partMs: number;
  readonly parts: number;
}

/** Counts what happened in a window by rule and tool, and by part of it. */
export class RulesCount {
  readonly #totals = noCounts();
  readonly #lines = new Map<string, Line>();
  readonly #tools = new Map<string, ToolCounts>();
  readonly #parts: readonly PartCounts[];
  readonly #at: Parts;

  constructor(at: Parts) {
    this.#at = at;
    this.#parts = Array.from({ length: at.parts }, (_, nth) => noPart(at.fromMs + nth * at.partMs));
  }

  add(event: MetricEvent): void {
    if (!('server' in event)) return;
    if ('rule' in event) this.#addRequest(event);
    else this.#addOperation(event);
  }

  report(policy: Policy | null): RulesReport {
    const items = [...this.#lines.values()].map(lineOf).sort(byVolume);
    const asked = new Set(items.map(({ rule }) => rule));
    const idle = (policy?.rules ?? []).map(({ id }) => id).filter((id) => !asked.has(id));
    const outcomes = [...this.#tools.values()].sort((a, b) => b.sent - a.sent || (nameOf(a) < nameOf(b) ? -1 : 1));
    return { totals: { ...this.#totals }, items, idle, outcomes, parts: this.#parts };
  }

  #addRequest(event: Extract<MetricEvent, { readonly rule: unknown }>): void {
    const { rule, server, tool } = event;
    const key = JSON.stringify([rule, server, tool]);
    const line = this.#lines.get(key) ?? { rule, server, tool, ...noCounts(), causes: new Map<string, number>() };
    this.#lines.set(key, line);
    for (const counts of [line, this.#totals]) count(counts, event);
    if (event.type === 'stale') line.causes.set(event.cause, (line.causes.get(event.cause) ?? 0) + 1);
    const part = this.#partAt(event.atMs);
    if (event.type === 'opened') {
      part.opened += 1;
      if (event.repeated) part.repeated += 1;
    } else if (event.type === 'closed' && event.end !== 'withdrawn' && event.end !== 'refused') part[event.end] += 1;
  }

  #addOperation(event: Exclude<Extract<MetricEvent, { readonly server: string }>, { readonly rule: unknown }>): void {
    const { server, tool } = event;
    const key = JSON.stringify([server, tool]);
    const line = this.#tools.get(key) ?? { server, tool, ...NO_OUTCOMES };
    this.#tools.set(key, line);
    if (event.type === 'sent') line.sent += 1;
    if (event.type !== 'ended') return;
    line[event.end] += 1;
    if (!event.approved || event.end === 'executed') return;
    line.failedAfterApproval += 1;
    this.#partAt(event.atMs).failedAfterApproval += 1;
  }

  /** What a clock that was put back dates before the window, or after it, is in its first or last part. */
  #partAt(atMs: number): PartCounts {
    const { fromMs, partMs, parts } = this.#at;
    const nth = Math.min(parts - 1, Math.max(0, Math.floor((atMs - fromMs) / partMs)));
    return this.#parts[nth] ?? noPart(fromMs);
  }
}

function count(counts: Counts, event: Extract<MetricEvent, { readonly rule: unknown }>): void {
  switch (event.type) {
    case 'opened':
      counts.opened += 1;
      if (event.repeated) counts.repeated += 1;
      if (event.afterDenial) counts.afterDenial += 1;
      return;
    case 'closed':
      counts[event.end] += 1;
      return;
    case 'escalated':
      counts.escalated += 1;
      return;
    case 'stale':
      counts.stale += 1;
      return;
    case 'emergency':
    case 'decided':
      return;
  }
}

function lineOf({ causes, ...line }: Line): RuleLine {
  const staleBy = [...causes].map(([cause, number]) => ({ cause, count: number }));
  return { ...line, staleBy: staleBy.sort((a, b) => b.count - a.count), signs: signsOf(line) };
}

/** Fewer say nothing about a rule. */
const FEWEST = 5;

/** `docs/monitoring.md` says what to do about each. */
function signsOf({ opened, allowed, denied, expired, repeated, stale }: RequestCounts): readonly RuleSign[] {
  const answered = allowed + denied + expired;
  const signs: readonly (readonly [RuleSign, boolean])[] = [
    ['alwaysAllowed', answered >= FEWEST && allowed === answered],
    ['oftenAbandoned', answered >= FEWEST && expired * 5 >= answered],
    ['oftenRepeated', opened >= FEWEST && repeated * 3 >= opened],
    ['oftenStale', opened >= FEWEST && stale * 5 >= opened],
  ];
  return signs.flatMap(([sign, holds]) => (holds ? [sign] : []));
}

function byVolume(a: RuleLine, b: RuleLine): number {
  return b.opened - a.opened || (nameOf(a) < nameOf(b) ? -1 : 1);
}

function nameOf(line: { readonly rule?: string | null; readonly server: string; readonly tool: string }): string {
  return JSON.stringify([line.rule ?? '', line.server, line.tool]);
}

function noCounts(): Counts {
  return {
    ...{ opened: 0, allowed: 0, denied: 0, expired: 0, withdrawn: 0, refused: 0 },
    ...{ escalated: 0, stale: 0, repeated: 0, afterDenial: 0 },
  };
}

const NO_OUTCOMES = { sent: 0, executed: 0, executedWithError: 0, failed: 0, unknown: 0, failedAfterApproval: 0 };

function noPart(fromMs: number): PartCounts {
  return { fromMs, opened: 0, allowed: 0, denied: 0, expired: 0, repeated: 0, failedAfterApproval: 0 };
}
