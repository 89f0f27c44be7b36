import { html } from 'hono/html';
import type { RetrospectivesView } from '../ports';
import { given, named } from './given';
import type { Html } from './layout';
import { argumentsView } from './material-view';
import { reviewsNav } from './reviews-nav';
import { absolute, ago } from './time';
import { count } from './words';

type Emergency = RetrospectivesView['emergencies'][number];

export interface RetrospectivesPage {
  readonly view: RetrospectivesView;
  readonly all: boolean;
  readonly csrf: string;
  readonly said: Html | null;
}

/** The emergencies whose review is open, or all of them: what ran, why, who was skipped, and what was found. */
export function retrospectivesPage({ view, all, csrf, said }: RetrospectivesPage): Html {
  const { emergencies, nowMs } = view;
  const isOverdue = emergencies.some(({ closed, dueAtMs }) => closed === null && dueAtMs <= nowMs);
  return html`<header class="lead">
      <h1>${all ? 'All emergencies' : 'Emergencies to review'}</h1>
      ${reviewsNav(all ? '/retrospectives?all=1' : '/retrospectives')}
    </header>
    ${said}
    ${isOverdue ? html`<p class="banner">A review is overdue. Until it is closed, the next emergency is refused.</p>` : null}
    <div id="list">
      ${
        emergencies.length === 0
          ? html`<p class="empty">No emergency that you may see is ${all ? 'on record' : 'to be reviewed'}.</p>`
          : null
      }
      <ul class="requests">
        ${emergencies.map((emergency) => emergencyView(emergency, { csrf, nowMs }))}
      </ul>
    </div>`;
}

function emergencyView(emergency: Emergency, { csrf, nowMs }: { csrf: string; nowMs: number }): Html {
  const { grantId, request, operationId, revision, rule, ticket, reason, deciders, skipped, uses } = emergency;
  return html`<li class="row emergency" id="${grantId}">
    <h2>${named(request.server)} / ${named(request.tool)} ${stateView(emergency, nowMs)}</h2>
    <dl class="grid small">
      <div>
        <dt>Asked</dt>
        <dd>for ${given(request.requester.subject)} by the agent ${given(request.requester.agent)}</dd>
      </div>
      <div>
        <dt>Allowed</dt>
        <dd>
          ${absolute(emergency.openedAtMs)} by ${named(deciders.join(', '))} under rule ${named(rule)}, ticket
          ${given(ticket)}: ${given(reason)}
        </dd>
      </div>
      <div>
        <dt>Skipped</dt>
        <dd>${named(skipped.join(', '))}, of rule ${named(request.ask.rule?.id ?? '')}</dd>
      </div>
      <div>
        <dt>Sent</dt>
        <dd>
          ${count(uses, 'time')}${
            emergency.mayRead
              ? html`; <a href="/requests/${operationId}?revision=${revision}">the request</a>,
                  <a href="/operations/${operationId}">the operation</a>`
              : null
          }
        </dd>
      </div>
      ${closedView(emergency, nowMs)}
    </dl>
    ${argumentsView(request, nowMs)} ${emergency.mayReview ? reviewForm(grantId, csrf) : null}
  </li>`;
}

function stateView({ closed, dueAtMs }: Emergency, nowMs: number): Html {
  if (closed !== null)
    return html`<span class="state ${closed.finding === 'justified' ? 'allowed' : 'denied'}"
      >${FINDINGS[closed.finding]}</span
    >`;
  if (dueAtMs <= nowMs) return html`<span class="state denied">review overdue, ${ago(dueAtMs, nowMs)}</span>`;
  return html`<span class="state pending">to be reviewed ${ago(dueAtMs, nowMs)}</span>`;
}

const FINDINGS = { justified: 'justified', notJustified: 'not justified' } as const;

function closedView({ closed, dueAtMs }: Emergency, nowMs: number): Html {
  return closed === null
    ? html`<div>
        <dt>Review</dt>
        <dd>${dueAtMs <= nowMs ? 'overdue since' : 'due'} ${absolute(dueAtMs)}</dd>
      </div>`
    : html`<div>
        <dt>Found</dt>
        <dd>${FINDINGS[closed.finding]}, ${absolute(closed.atMs)} by ${named(closed.by)}: ${given(closed.note)}</dd>
      </div>`;
}

function reviewForm(grantId: string, csrf: string): Html {
  return html`<form class="decision" method="post" action="/retrospectives/${grantId}/review">
    <input type="hidden" name="csrf" value="${csrf}" />
    <fieldset>
      <legend>Your review</legend>
      <p class="tick">
        <input type="radio" id="yes-${grantId}" name="finding" value="justified" required autocomplete="off" />
        <label for="yes-${grantId}">The emergency was justified</label>
      </p>
      <p class="tick">
        <input type="radio" id="no-${grantId}" name="finding" value="notJustified" required autocomplete="off" />
        <label for="no-${grantId}">It was not</label>
      </p>
      <p>
        <label for="note-${grantId}">What you found, and what follows from it</label>
        <textarea id="note-${grantId}" name="note" rows="2" maxlength="4000" required autocomplete="off"></textarea>
      </p>
      <button type="submit">Close the review</button>
    </fieldset>
  </form>`;
}
