import { html } from 'hono/html';
import { WINDOWS, type Reports, type RuleLine, type RulesPart, type RuleSign } from '../reports/report';
import { named } from './given';
import type { Html } from './layout';
import { plotView, type Plot } from './plot';
import { figuresView, reportHead, reportTable, shareText } from './report-parts';
import { CAUSE_TEXT, count, when } from './words';

/** What there is to tune: volume, what is always allowed, abandoned, asked again or stale, and what failed after it. */
export function rulesReportPage(reports: Reports): Html {
  const { totals, idle } = reports.rules;
  const purpose = 'What there is to tune: which rules ask for much, for what is always allowed, or in vain.';
  const answered = totals.allowed + totals.denied;
  return html`${reportHead({ name: 'rules', reports, purpose })}
    <article class="report">
      ${figuresView([
        { name: 'Opened', value: String(totals.opened) },
        { name: 'Allowed', value: `${totals.allowed} (${shareText(totals.allowed, answered)})` },
        { name: 'Denied', value: String(totals.denied) },
        { name: 'Abandoned', value: `${totals.expired} (${shareText(totals.expired, answered + totals.expired)})` },
        { name: 'Withdrawn or refused', value: String(totals.withdrawn + totals.refused) },
        { name: 'Escalated', value: String(totals.escalated) },
        { name: 'Asked again', value: `${totals.repeated}, after a denial ${totals.afterDenial}` },
        { name: 'Stale', value: String(totals.stale) },
      ])}
      <section aria-labelledby="plots">
        <h2 id="plots">Over time</h2>
        <div class="plots">${plotsOf(reports).map(plotView)}</div>
      </section>
      ${rulesTable(reports.rules.items)} ${idle.length === 0 ? null : idleView(idle)} ${outcomesTable(reports)}
    </article>`;
}

function plotsOf({ window, rules: { parts, totals } }: Reports): readonly Plot[] {
  const tickOf = (part: RulesPart): string => {
    const text = when(part.fromMs);
    return window === '24h' ? text.slice(11, 16) : text.slice(5, 10);
  };
  const over = (valueOf: (part: RulesPart) => number | null) =>
    parts.map((part) => ({ tick: tickOf(part), name: when(part.fromMs), value: valueOf(part) }));
  const axis = `From, for ${WINDOWS[window].lengthMs / WINDOWS[window].parts === 3_600_000 ? 'an hour' : 'a day'}`;
  const failures = parts.reduce((sum, part) => sum + part.failedAfterApproval, 0);
  const decided = totals.allowed + totals.denied;
  const numbers = { kind: 'bars', unit: 'count', axis } as const;
  const shares = { kind: 'line', unit: 'percent', axis } as const;
  return [
    {
      ...numbers,
      id: 'opened',
      title: 'Requests opened',
      summary: `${totals.opened} in all.`,
      points: over((p) => p.opened),
    },
    {
      ...shares,
      ...{ id: 'denied', title: 'Denied, of those decided' },
      summary: `${totals.denied} of ${decided} (${shareText(totals.denied, decided)}).`,
      points: over((part) => shareOf(part.denied, part.allowed + part.denied)),
    },
    {
      ...shares,
      ...{ id: 'abandoned', title: 'Abandoned, of those decided or expired' },
      summary: `${totals.expired} of ${decided + totals.expired} (${shareText(totals.expired, decided + totals.expired)}).`,
      points: over((part) => shareOf(part.expired, part.allowed + part.denied + part.expired)),
    },
    {
      ...numbers,
      ...{ id: 'repeated', title: 'Asked again within 24 hours' },
      summary: `${totals.repeated} in all, ${totals.afterDenial} of them after a denial.`,
      points: over((part) => part.repeated),
    },
    {
      ...numbers,
      ...{ id: 'failures', title: 'Failures after an approval' },
      summary: `${failures} in all: failed, unknown, or answered with an error.`,
      points: over((part) => part.failedAfterApproval),
    },
  ];
}

function shareOf(part: number, whole: number): number | null {
  return whole === 0 ? null : (part * 100) / whole;
}

function rulesTable(items: readonly RuleLine[]): Html {
  return reportTable({
    id: 'by-rule',
    title: 'By rule and tool',
    columns: [
      ...['Rule and tool', 'Opened', 'Allowed', 'Share', 'Denied', 'Abandoned', 'Escalated', 'Asked again'],
      ...['After a denial', 'Stale', { text: 'Stale because' }, { text: 'Worth a look' }],
    ],
    rows: items.map((line) => [
      html`${line.rule === null ? 'asked by the runtime itself' : named(line.rule)}<br /><span class="hint"
          >${named(line.server)} / ${named(line.tool)}</span
        >`,
      ...[line.opened, line.allowed, shareText(line.allowed, line.allowed + line.denied), line.denied, line.expired],
      ...[line.escalated, line.repeated, line.afterDenial, line.stale],
      staleView(line),
      html`${line.signs.map((sign) => html`<span class="sign">${SIGN_TEXT[sign]}</span> `)}`,
    ]),
    empty: 'Nobody was asked about anything in this time.',
  });
}

const SIGN_TEXT: Readonly<Record<RuleSign, string>> = {
  alwaysAllowed: 'always allowed',
  oftenAbandoned: 'often abandoned',
  oftenRepeated: 'often asked again',
  oftenStale: 'often stale',
};

const CAUSES: ReadonlyMap<string, string> = new Map(Object.entries(CAUSE_TEXT));

function staleView({ staleBy }: RuleLine): Html {
  return html`${staleBy.map(
    ({ cause, count: number }) => html`<div>${CAUSES.get(cause) ?? named(cause)} (${number})</div>`,
  )}`;
}

function idleView(idle: readonly string[]): Html {
  return html`<section aria-labelledby="idle">
    <h2 id="idle">Rules that asked nobody</h2>
    <p class="hint">${count(idle.length, 'rule')} of the active policy opened no request in this time.</p>
    <ul class="lines">
      ${idle.map((rule) => html`<li>${named(rule)}</li>`)}
    </ul>
  </section>`;
}

function outcomesTable({ rules: { outcomes } }: Reports): Html {
  return reportTable({
    id: 'outcomes',
    title: 'What became of operations',
    hint: 'Also of those about which nobody was asked. An unknown outcome that was settled counts as it was.',
    columns: [...['Tool', 'Sent', 'Executed', 'With an error', 'Failed', 'Unknown', 'Failures after an approval']],
    rows: outcomes.map((line) => [
      html`${named(line.server)} / ${named(line.tool)}`,
      ...[line.sent, line.executed, line.executedWithError, line.failed, line.unknown, line.failedAfterApproval],
    ]),
    empty: 'Nothing was sent in this time.',
  });
}
