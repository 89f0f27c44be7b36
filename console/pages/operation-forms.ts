import { html } from 'hono/html';
import type { OperationView, Viewer } from '../ports';
import type { Html } from './layout';
import { argumentsView } from './material-view';

/** For an operator, the form that states an unknown outcome, with what ran beside it; for others, that one has to. */
export function settleView({ operationId, revisions, nowMs }: OperationView, viewer: Viewer, csrf: string): Html {
  const request = revisions.at(-1)?.request;
  if (!viewer.isOperator) {
    return html`<p class="banner">
      Whether it took effect cannot be told. An operator has to find out and settle it.
    </p>`;
  }
  return html`<section class="settle" aria-labelledby="settle">
    <h2 id="settle">Settle the outcome</h2>
    <p>Find out at the target whether the call took effect, and state it. It is recorded under your name and stands.</p>
    ${request === undefined ? null : argumentsView(request, nowMs)}
    <form method="post" action="/operations/${operationId}/settlement">
      <input type="hidden" name="csrf" value="${csrf}" />
      <fieldset>
        <legend>What happened</legend>
        <p class="tick">
          <input type="radio" id="executed" name="outcome" value="executed" required autocomplete="off" />
          <label for="executed">It took effect</label>
        </p>
        <p class="tick">
          <input type="radio" id="failed" name="outcome" value="failed" required autocomplete="off" />
          <label for="failed">It did not: nothing was done</label>
        </p>
      </fieldset>
      <p>
        <label for="reason">How you know</label>
        <textarea id="reason" name="reason" rows="2" maxlength="4000" required autocomplete="off"></textarea>
      </p>
      <button type="submit">Settle</button>
    </form>
  </section>`;
}

/** That the effect was undone is a fact of its own, reported once. */
export function reversalView({ operationId, facts }: OperationView, csrf: string): Html | null {
  if (facts.some(({ kind }) => kind === 'operation.reversed')) return null;
  return html`<details class="revoke">
    <summary>Report that its effect was undone</summary>
    <form method="post" action="/operations/${operationId}/reversal">
      <input type="hidden" name="csrf" value="${csrf}" />
      <p>
        <label for="reversed">What was wrong, and how it was undone</label>
        <textarea id="reversed" name="reason" rows="2" maxlength="4000" required autocomplete="off"></textarea>
      </p>
      <button type="submit">Put on record</button>
    </form>
  </details>`;
}

/** One operation's facts prove nothing without the chain that they are in. */
export function exportView(): Html {
  return html`<p class="hint">
    <a href="/audit/export" download>Export the whole audit</a>; <code>holdpoint audit verify FILE</code> checks it
    offline.
  </p>`;
}
