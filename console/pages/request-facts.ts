import { html } from 'hono/html';
import type { ApprovalRequest, SimilarOperation } from '../../core/request';
import { afterwardsText } from '../../core/words';
import { given } from './given';
import type { Html } from './layout';
import { absolute } from './time';

/** Earlier operations with the same material fields, and how they ended. */
export function similarView({ similar }: ApprovalRequest): Html {
  return html`<section aria-labelledby="similar">
    <h2 id="similar">Similar earlier operations</h2>
    ${
      similar.length === 0
        ? html`<p class="hint">None with the same material fields.</p>`
        : html`<ul class="lines">
            ${similar.map((operation) => similarLine(operation))}
          </ul>`
    }
  </section>`;
}

function similarLine(similar: SimilarOperation): Html {
  const { operationId, atMs, requester, state } = similar;
  const who = requester === null ? 'somebody else' : given(requester);
  const link = operationId === null ? null : html` <a href="/operations/${operationId}">its story</a>`;
  return html`<li>
    <span class="state ${state}">${state}</span>${afterwardsText(similar)} ${absolute(atMs)} for ${who}${link}
  </li>`;
}

/** What a decision is bound to. */
export function bindingView({ operationId, turnId, callId, bindingDigest }: ApprovalRequest): Html {
  return html`<section aria-labelledby="binding">
    <h2 id="binding">What a decision is bound to</h2>
    <p class="binding"><code>${operationId}</code>, turn ${given(turnId)}, call ${given(callId)}</p>
    <p class="binding"><code>${bindingDigest}</code></p>
  </section>`;
}
