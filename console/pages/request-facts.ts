import { html } from 'hono/html';
import type { ApprovalRequest, SimilarOperation } from '../../core/request';
import { given, named } from './given';
import type { Html } from './layout';
import { absolute, ago } from './time';
import { brief, reversibleText } from './words';

/** What could go wrong, as the policy says it of the tool. */
export function riskView({ classification, reversible, expected }: ApprovalRequest): Html {
  return html`<section aria-labelledby="risk">
    <h2 id="risk">Risk</h2>
    <dl class="row">
      <div>
        <dt>Data</dt>
        <dd>${classification === null ? 'not stated' : named(classification)}</dd>
      </div>
      <div>
        <dt>Can be undone</dt>
        <dd class="${reversible === 'no' ? 'caution' : ''}">${named(reversibleText(reversible))}</dd>
      </div>
      <div>
        <dt>Expected result</dt>
        <dd>${expected === null ? 'not stated' : named(expected)}</dd>
      </div>
    </dl>
  </section>`;
}

/** Earlier operations with the same material fields, and how they ended. */
export function similarView({ similar }: ApprovalRequest, nowMs: number): Html {
  return html`<section aria-labelledby="similar">
    <h2 id="similar">Similar earlier operations</h2>
    ${
      similar.length === 0
        ? html`<p class="hint">None with the same material fields.</p>`
        : html`<ul class="lines">
            ${similar.map((operation) => similarLine(operation, nowMs))}
          </ul>`
    }
  </section>`;
}

function similarLine({ operationId, atMs, requester, state }: SimilarOperation, nowMs: number): Html {
  const who = requester === null ? 'somebody else' : given(requester);
  const link = operationId === null ? null : html` <a href="/operations/${operationId}">its story</a>`;
  return html`<li>
    <span class="state ${state}">${state}</span> ${ago(atMs, nowMs)} (${absolute(atMs)}) for ${who}${link}
  </li>`;
}

/** Which rule asks, and the digests that a decision is bound to. */
export function recordView(request: ApprovalRequest): Html {
  const { ask, policyVersion, operationId, turnId, callId, bindingDigest } = request;
  const others = ask.matched.filter(({ id }) => id !== ask.rule?.id);
  return html`<section aria-labelledby="record">
    <h2 id="record">On record</h2>
    <dl class="grid small">
      <div>
        <dt>Rule</dt>
        <dd>
          ${ask.rule === null ? 'the runtime itself' : html`${named(ask.rule.id)} at version ${brief(ask.rule.version)}`},
          policy
          ${policyVersion}${
            others.length === 0
              ? null
              : html`; also matched: ${others.map(({ id }, index) => html`${index === 0 ? null : ', '}${named(id)}`)}`
          }
        </dd>
      </div>
      <div>
        <dt>Operation</dt>
        <dd><code>${operationId}</code>, turn ${named(turnId)}, call ${named(callId)}</dd>
      </div>
      <div>
        <dt>Binding digest</dt>
        <dd><code>${bindingDigest}</code></dd>
      </div>
    </dl>
  </section>`;
}
