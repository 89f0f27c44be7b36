import { html } from 'hono/html';
import type { Reports, ReviewsReport } from '../reports/report';
import { named } from './given';
import type { Html } from './layout';
import { plotView, type Plot } from './plot';
import { figuresView, reportHead, reportTable, shareText } from './report-parts';
import { duration } from './words';

/** How long decisions take, in all and by group. It compares no people. */
export function reviewsReportPage(reports: Reports): Html {
  const { reviews } = reports;
  const { allowed, denied, p50Ms, p95Ms } = reviews;
  const purpose = 'How long decisions take. Times run from the opening of a request, also for those asked later.';
  return html`${reportHead({ name: 'reviews', reports, purpose })}
    <article class="report">
      ${figuresView([
        { name: 'Decisions that count', value: String(allowed + denied) },
        { name: 'Denials', value: `${denied} (${shareText(denied, allowed + denied)})` },
        { name: 'Half within', value: p50Ms === null ? 'none' : duration(p50Ms) },
        { name: '95 of 100 within', value: p95Ms === null ? 'none' : duration(p95Ms) },
      ])}
      <section aria-labelledby="plots">
        <h2 id="plots">Time to decide</h2>
        <div class="plots">${plotView(latencyPlot(reviews))}</div>
      </section>
      ${groupsTable(reviews)}
      ${reportTable({
        id: 'channels',
        title: 'How decisions came in',
        columns: ['Channel', 'Decisions'],
        rows: reviews.channels.map(({ channel, count }) => [named(channel), count]),
        empty: 'Nobody decided anything in this time.',
      })}
    </article>`;
}

function latencyPlot({ classes }: ReviewsReport): Plot {
  const total = classes.reduce((sum, each) => sum + each.count, 0);
  const points = classes.map(({ upToMs, count }) => ({
    tick: upToMs === null ? '∞' : duration(upToMs),
    name: upToMs === null ? 'longer' : `up to ${duration(upToMs)}`,
    value: count,
  }));
  const summary = `${total} in all, by how long they took; each class begins where the one before ends.`;
  return { ...{ id: 'latency', title: 'Decisions', summary, kind: 'bars', unit: 'count', axis: 'Time' }, points };
}

function groupsTable({ groups, smallGroups }: ReviewsReport): Html {
  return reportTable({
    id: 'groups',
    title: 'By group',
    hint: html`Groups of the active policy. Whoever is in several counts in
    each.${smallGroups.length === 0 ? null : smallGroupsView(smallGroups)}`,
    columns: ['Group', 'Decisions', 'Denials', 'Half within', '95 of 100 within'],
    rows: groups.map(({ group, decisions, denied, p50Ms, p95Ms }) => [
      named(group),
      ...[decisions, denied, duration(p50Ms), duration(p95Ms)],
    ]),
    empty: 'There is no group of which at least three people decided.',
  });
}

function smallGroupsView(groups: readonly string[]): Html {
  const names = groups.map((group, nth) => html`${nth === 0 ? '' : ', '}${named(group)}`);
  return html` Only in the totals, because fewer than three of its people decided: ${names}.`;
}
