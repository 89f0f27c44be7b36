import { html } from 'hono/html';
import type { MaterialField } from '../../core/evaluation';
import type { RequestStanding } from '../../core/request';
import type { RequestRecord } from '../../ledger/queries';
import type { Page } from '../ports';
import { given, givenLine, named } from './given';
import type { Html } from './layout';
import { linkWith } from './link-with';
import { absolute, moment } from './time';
import { count, STANDING_TEXT } from './words';

export interface QueuePage {
  readonly page: Page<RequestRecord> & { readonly nowMs: number };
  readonly state: RequestStanding['state'];
  /** Only those that ask the viewer now. */
  readonly mine: boolean;
  /** Of the query, as it came: server, tool, subject, all, state, cursor. */
  readonly query: Readonly<Record<string, string>>;
}

/** The requests that wait, the first deadline first; or the closed ones of one state, the newest first. */
export function queuePage({ page, state, mine, query }: QueuePage): Html {
  const { items, next, nowMs } = page;
  return html`<header class="lead">
      <h1>${title(state, mine)}</h1>
      ${filters(state, mine, query)}
    </header>
    <div id="list">
      <p class="count">${countText(items.length, next !== null || query['cursor'] !== undefined)}</p>
      ${items.length === 0 ? emptyView(state, mine) : null}
      <ol class="requests">
        ${items.map((record) => rowView(record, nowMs))}
      </ol>
      ${
        next === null
          ? null
          : html`<p><a rel="next" href="${linkWith('/', { ...query, cursor: next })}">The next page</a></p>`
      }
    </div>`;
}

function title(state: RequestStanding['state'], mine: boolean): string {
  if (state !== 'pending') return `Requests: ${STANDING_TEXT[state]}`;
  return mine ? 'Waiting for you' : 'Waiting for anybody';
}

function countText(number: number, isPart: boolean): string {
  return isPart ? `${count(number, 'request')} on this page` : count(number, 'request');
}

const CLOSED = ['allowed', 'denied', 'expired', 'withdrawn', 'superseded', 'refused'] as const;

function filters(state: RequestStanding['state'], mine: boolean, query: Readonly<Record<string, string>>): Html {
  const { cursor: _cursor, state: _state, all: _all, ...kept } = query;
  const links = [
    { name: 'Waiting for you', href: linkWith('/', kept), isCurrent: state === 'pending' && mine },
    {
      name: 'Waiting for anybody',
      href: linkWith('/', { ...kept, all: '1' }),
      isCurrent: state === 'pending' && !mine,
    },
    ...CLOSED.map((closed) => ({
      name: closed.replace(/^./, (letter) => letter.toUpperCase()),
      href: linkWith('/', { ...kept, state: closed }),
      isCurrent: state === closed,
    })),
  ];
  return html`<nav class="filters" aria-label="Which requests">
      <ul>
        ${links.map(
          ({ name, href, isCurrent }) =>
            html`<li><a href="${href}" ${isCurrent ? html`aria-current="page"` : null}>${name}</a></li>`,
        )}
      </ul>
    </nav>
    ${narrowed(kept)}`;
}

function narrowed(kept: Readonly<Record<string, string>>): Html | null {
  const parts = Object.entries(kept);
  if (parts.length === 0) return null;
  return html`<p>
    Only with ${parts.map(([name, value], index) => html`${index === 0 ? null : ', '}${name} ${given(value)}`)}.
    <a href="/">All of them</a>
  </p>`;
}

function emptyView(state: RequestStanding['state'], mine: boolean): Html {
  if (state !== 'pending') return html`<p class="empty">No request that you may see is ${STANDING_TEXT[state]}.</p>`;
  if (!mine) return html`<p class="empty">No request that you may see waits for a decision.</p>`;
  return html`<p class="empty">
    Nothing waits for you. Requests of others that you may see are under <a href="/?all=1">Waiting for anybody</a>.
  </p>`;
}

function rowView({ request, standing }: RequestRecord, nowMs: number): Html {
  const { operationId, revision, shortId, requester } = request;
  return html`<li class="row" id="r-${operationId}-${revision}">
    <a class="what" href="/requests/${operationId}?revision=${revision}"
      ><code>${shortId}</code> <span>${named(request.server)} / ${named(request.tool)}</span></a
    >
    <p class="asks">
      for ${given(requester.subject)} by
      ${given(requester.agent)}${request.cause === 'first' ? null : html`, <strong>asked again</strong>`}
    </p>
    <p class="due">${standing.state === 'pending' ? dueView(request, nowMs) : closedView(standing)}</p>
    <p class="line">${materialLine(request.material)}</p>
    ${isLong(request.material) ? html`<p class="hint">There is more of it than this list shows: read its page.</p>` : null}
    <p class="level">${levelText(request.ask.escalate, standing)}</p>
  </li>`;
}

/** Whether the line may be cut in the list. */
function isLong(material: readonly MaterialField[]): boolean {
  return JSON.stringify(material.map(({ value }) => value)).length > LONGEST_LINE;
}

const LONGEST_LINE = 120;

function dueView({ deadlineAtMs }: RequestRecord['request'], nowMs: number): Html {
  return html`${moment(deadlineAtMs, nowMs)}, then it expires, not executed`;
}

function closedView({ closedAtMs, state }: RequestStanding): Html {
  if (closedAtMs === null) return html`${STANDING_TEXT[state]}`;
  return html`${STANDING_TEXT[state]} ${absolute(closedAtMs)}`;
}

function materialLine(material: readonly MaterialField[]): Html {
  if (material.length === 0) return html`<span class="hint">no material fields; the page shows all arguments</span>`;
  return html`${material.map(
    ({ name, found, value }, index) =>
      html`${index === 0 ? null : ' · '}<span class="field"
          >${named(name)} ${found ? givenLine(value) : html`<strong class="missing">missing</strong>`}</span
        >`,
  )}`;
}

function levelText(
  escalate: RequestRecord['request']['ask']['escalate'],
  { state, level }: RequestStanding,
): Html | null {
  if (state !== 'pending' || level === 0) return null;
  const reached = escalate.slice(0, level).flatMap(({ to }) => [...to.groups, ...to.people]);
  return html`Escalated to ${named(reached.join(', '))} (level ${level} of ${escalate.length})`;
}
