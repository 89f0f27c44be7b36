import { html } from 'hono/html';
import type { ApprovalRequest } from '../../core/request';
import type { SecondReviewsView } from '../ports';
import { changeView, noteView } from './change-view';
import { given, named } from './given';
import type { Html } from './layout';
import { argumentsView } from './material-view';
import { reviewsNav } from './reviews-nav';
import { absolute } from './time';

export interface SecondReviewPage {
  readonly view: SecondReviewsView;
  readonly csrf: string;
  readonly said: Html | null;
}

/** One decided request at a time, without what was decided: what would the viewer have answered? Then what was. */
export function secondReviewPage({ view, csrf, said }: SecondReviewPage): Html {
  const [next, ...more] = view.open;
  return html`<header class="lead">
      <h1>Second reviews</h1>
      ${reviewsNav('/second-reviews')}
    </header>
    ${said}
    <p>
      A sample of what was decided in the last 30 days, to see whether two people answer alike. What you say changes no
      decision, and you are told what was decided once you have said it.
    </p>
    ${
      next === undefined
        ? html`<p class="empty">Nothing waits for a second review of yours.</p>`
        : requestView(next, { csrf, nowMs: view.nowMs, left: more.length })
    }
    ${doneView(view)}`;
}

interface Asking {
  readonly csrf: string;
  readonly nowMs: number;
  readonly left: number;
}

function requestView(request: ApprovalRequest, { csrf, nowMs, left }: Asking): Html {
  const { requester } = request;
  return html`<article class="row second-review" aria-labelledby="second">
    <h2 id="second">${named(request.server)} / ${named(request.tool)}</h2>
    <p>
      Asked for ${given(requester.subject)} by the agent ${given(requester.agent)},
      ${absolute(request.openedAtMs)}${left === 0 ? null : html`; ${left} more wait`}
    </p>
    ${argumentsView(request, nowMs)} ${changeView(request)} ${noteView(request)}
    <form class="decision" method="post" action="/second-reviews/${request.operationId}">
      <input type="hidden" name="csrf" value="${csrf}" />
      <input type="hidden" name="revision" value="${request.revision}" />
      <fieldset>
        <legend>What would you have answered?</legend>
        <p class="tick">
          <input type="radio" id="second-allow" name="answer" value="allow" required autocomplete="off" />
          <label for="second-allow">Allow</label>
        </p>
        <p class="tick">
          <input type="radio" id="second-deny" name="answer" value="deny" required autocomplete="off" />
          <label for="second-deny">Deny</label>
        </p>
        <p>
          <label for="second-note">Why (a denial needs it)</label>
          <textarea id="second-note" name="note" rows="2" maxlength="4000" autocomplete="off"></textarea>
        </p>
        <button type="submit">Put on record</button>
      </fieldset>
    </form>
  </article>`;
}

function doneView({ done }: SecondReviewsView): Html | null {
  if (done.length === 0) return null;
  const agreed = done.filter(({ answer, second }) => answer === second?.answer).length;
  return html`<section aria-labelledby="done">
    <h2 id="done">Done: ${agreed} of ${done.length} alike</h2>
    <ul class="requests">
      ${done.map(
        ({ request, answer, deciders, second, mayRead }) =>
          html`<li class="row told">
            ${mayRead ? requestLink(request) : whatOf(request)}: ${named(deciders.join(', '))} answered ${answer},
            ${named(second?.by ?? '')} would have answered
            ${second?.answer ?? ''}${second?.note === '' || second === null ? null : html`: ${given(second.note)}`}
          </li>`,
      )}
    </ul>
  </section>`;
}

function requestLink(request: ApprovalRequest): Html {
  return html`<a href="/requests/${request.operationId}?revision=${request.revision}">${whatOf(request)}</a>`;
}

function whatOf({ server, tool }: ApprovalRequest): Html {
  return html`${named(server)} / ${named(tool)}`;
}
