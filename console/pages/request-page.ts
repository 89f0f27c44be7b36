import { html } from 'hono/html';
import type { RequestView, Viewer } from '../ports';
import { changeView, contextView, noteView, titleView } from './change-view';
import { decisionForms, type FormKeys } from './decision-forms';
import { emergencyForms } from './emergency-forms';
import { given, named } from './given';
import type { Html } from './layout';
import { argumentsView } from './material-view';
import { answersView, outcomeView, permitView } from './permit-view';
import { bindingView, similarView } from './request-facts';
import { ago } from './time';
import { CAUSE_TEXT, STANDING_TEXT } from './words';

export interface RequestPage {
  readonly view: RequestView;
  readonly viewer: Viewer;
  readonly keys: FormKeys;
  /** What the viewer has just done, where that is on record. */
  readonly said: Html | null;
}

/** One approval request on one screen: what was asked first, the agent's own words last, the answer beside them. */
export function requestPage({ view, viewer, keys, said }: RequestPage): Html {
  const { request, nowMs } = view;
  return html`<article
    class="request"
    id="request"
    data-standing="${standingKey(view)}"
    data-open="${view.standing.state} ${view.latestRevision}"
    data-words="${words(view)}"
  >
    ${headView(view)} ${said} ${bannersView(view)}
    <div class="columns">
      <div class="facts">
        <section aria-labelledby="call">
          <h2 id="call">What will run</h2>
          ${argumentsView(request, nowMs)}
        </section>
        ${changeView(request)} ${similarView(request)} ${contextView(request)} ${bindingView(request)}
      </div>
      <aside class="answer" aria-label="Answer">
        ${permitView(view)} ${answersView(view)} ${outcomeView(view)} ${decisionForms(view, viewer, keys)}
        ${emergencyForms(view, keys)}
      </aside>
      ${noteView(request)}
    </div>
  </article>`;
}

function headView(view: RequestView): Html {
  const { request, standing, nowMs } = view;
  const revision = request.revision > 1 || view.latestRevision > 1 ? html`, revision ${request.revision}` : null;
  return html`<header class="lead">
    <p class="crumb">
      <span><a href="/">Requests</a> / ${request.shortId}${revision}</span>
      <span class="ticking">asked ${ago(request.openedAtMs, nowMs)}</span>
      ${standing.state === 'pending' ? html`<span class="ticking">to be decided ${ago(request.deadlineAtMs, nowMs)}</span>` : null}
    </p>
    <h1>
      ${named(request.server)} / ${named(request.tool)}
      <span class="state ${standing.state}">${STANDING_TEXT[standing.state]}</span>
    </h1>
    <p class="who">${requesterView(request)}</p>
    ${titleView(request)}
  </header>`;
}

function requesterView({ requester: { subject, agent, chain } }: RequestView['request']): Html {
  const links = [subject, ...chain, agent].map((name, index) => html`${index === 0 ? null : ' → '}${given(name)}`);
  const through = chain.length === 0 ? null : html`, along the chain ${links}`;
  return html`Asked for ${given(subject)} by the agent ${given(agent)}${through}`;
}

function bannersView(view: RequestView): Html {
  const { request, latestRevision } = view;
  return html`${
    latestRevision > request.revision
      ? html`<p class="banner">
          A newer revision has taken the place of this one, which is no longer open.
          <a href="/requests/${request.operationId}">Read revision ${latestRevision}</a>
        </p>`
      : null
  }${
    request.cause === 'first'
      ? null
      : html`<p class="banner">Asked again: ${CAUSE_TEXT[request.cause]}. Nothing has run.</p>`
  }`;
}

/** Changes exactly when there is something new to read; the page's script compares it. */
function standingKey({ latestRevision, standing, decisions, operation }: RequestView): string {
  return [standing.state, latestRevision, standing.level, decisions.length, operation?.state ?? 'unsent'].join(' ');
}

/** What a page that is out of date is told. */
function words({ request, latestRevision, standing, people, operation }: RequestView): string {
  if (latestRevision > request.revision) return `there is a newer revision ${latestRevision}`;
  if (operation !== null) return `now ${STANDING_TEXT[standing.state]}, and sent`;
  if (standing.state !== 'pending') return `now ${STANDING_TEXT[standing.state]}`;
  return people === null ? 'still open' : `still open, ${people.allows} of ${people.needed} allowed`;
}
