import { html } from 'hono/html';
import { showJson, showText } from '../../core/display';
import type { Fact, OperationRecord, RequestRecord } from '../../ledger/queries';
import type { OperationView, Viewer } from '../ports';
import { exportView, reversalView, settleView } from './operation-forms';
import { factDetails, factWords } from './fact-words';
import { given, givenValue, named } from './given';
import type { Html } from './layout';
import { decisionLine } from './permit-view';
import { absolute } from './time';
import { EVIDENCE_TEXT, OUTCOME_TEXT, STANDING_TEXT } from './words';

export interface OperationPage {
  readonly view: OperationView;
  readonly viewer: Viewer;
  readonly csrf: string;
  readonly said: Html | null;
}

/** One operation as a story: what was asked, decided, re-checked, sent and committed, each fact with its whole body. */
export function operationPage({ view, viewer, csrf, said }: OperationPage): Html {
  const { operationId, operation, revisions, facts } = view;
  return html`<article
    id="request"
    data-standing="${standingKey(view)}"
    data-open="${view.operation?.state ?? 'unsent'}"
    data-words="${words(view)}"
  >
    <header class="lead">
      <p class="crumb"><a href="/operations">Operations</a> / <code>${operationId}</code></p>
      <h1>${heading(view)}</h1>
    </header>
    ${said} ${operation === null ? neverSent() : sentView(operation)}
    ${operation?.state === 'unknown' ? settleView(view, viewer, csrf) : null}
    ${operation?.state === 'executed' && viewer.isOperator ? reversalView(view, csrf) : null}
    ${revisions.length === 0 ? null : revisionsView(view)}
    <section aria-labelledby="facts">
      <h2 id="facts">On record, in the order of its commits</h2>
      ${facts.length === 0 ? html`<p class="empty">Nothing is on record.</p>` : null}
      <ol class="story">
        ${facts.map((fact) => factView(fact))}
      </ol>
      ${viewer.isOperator ? exportView() : null}
    </section>
  </article>`;
}

function heading({ operation, revisions }: OperationView): Html {
  const called = operation ?? revisions.at(-1)?.request;
  const name = called === undefined ? html`An operation` : html`${named(called.server)} / ${named(called.tool)}`;
  const standing = revisions.at(-1)?.standing.state;
  const state = operation === null ? standing : operation.state;
  const text =
    operation === null ? (standing === undefined ? '' : STANDING_TEXT[standing]) : OUTCOME_TEXT[operation.state];
  return html`${name} ${state === undefined ? null : html`<span class="state ${state}">${text}</span>`}`;
}

function neverSent(): Html {
  return html`<p class="hint">Nothing of this operation was sent to a tool.</p>`;
}

function sentView(operation: OperationRecord): Html {
  const { requester, attempt, dispatchedAtMs, endedAtMs, evidence, detail, settledBy, approval } = operation;
  return html`<dl class="grid">
    <div>
      <dt>Asked for</dt>
      <dd>${given(requester.subject)} by the agent ${given(requester.agent)}</dd>
    </div>
    <div>
      <dt>Sent</dt>
      <dd>${absolute(dispatchedAtMs)}${attempt > 1 ? `, attempt ${attempt}` : null}</dd>
    </div>
    <div>
      <dt>Outcome</dt>
      <dd>
        ${OUTCOME_TEXT[operation.state]}${evidence === null ? null : html`, by ${named(EVIDENCE_TEXT[evidence] ?? evidence)}`}${
          operation.isError === true ? '; the tool answered with an error' : null
        }${settledBy === null ? null : html`; settled by ${named(settledBy)}`}
        ${endedAtMs === null ? null : html`(${absolute(endedAtMs)})`}
        ${detail === null ? null : html`<div>${givenValue(detail)}</div>`}
      </dd>
    </div>
    ${
      approval === null
        ? null
        : html`<div>
            <dt>Allowed</dt>
            <dd>
              by ${named(approval.deciders.join(', '))} under
              ${named(approval.permittedRule?.id ?? 'the runtime itself')}${
                approval.verified ? null : html`, <strong class="caution">UNVERIFIED: not signed</strong>`
              }${approval.emergency ? ', as an emergency' : null}${
                approval.grantId === null ? null : html`, grant <code>${approval.grantId}</code>`
              }
            </dd>
          </div>`
    }
  </dl>`;
}

function revisionsView({ revisions, decisions, operationId }: OperationView): Html {
  return html`<section aria-labelledby="revisions">
    <h2 id="revisions">Approval requests</h2>
    <ul class="lines">
      ${revisions.map((record) => revisionLine(record, operationId))}
    </ul>
    ${
      decisions.length === 0
        ? null
        : html`<h3>Decisions that count</h3>
            <ul class="lines">
              ${decisions.map((decision) => decisionLine(decision, 0))}
            </ul>`
    }
  </section>`;
}

function revisionLine({ request, standing }: RequestRecord, operationId: string): Html {
  return html`<li>
    <a href="/requests/${operationId}?revision=${request.revision}">Revision ${request.revision}</a>
    <span class="state ${standing.state}">${STANDING_TEXT[standing.state]}</span>
    asked ${absolute(request.openedAtMs)}
  </li>`;
}

function factView(fact: Fact): Html {
  const words = factWords(fact);
  return html`<li>
    <p class="when"><code>#${fact.seq}</code> ${absolute(fact.atMs)}</p>
    <div class="fact">
      <p>
        ${words ?? 'A fact of a kind that this console does not know'} <code class="kind">${showText(fact.kind)}</code>
      </p>
      ${detailsView(fact)}
      <details>
        <summary>All of it</summary>
        <pre class="given" dir="ltr">${'\n'}${showJson(fact.body)}</pre>
      </details>
    </div>
  </li>`;
}

function detailsView(fact: Fact): Html | null {
  const details = factDetails(fact);
  if (details.length === 0) return null;
  return html`<p>
    ${details.map(([name, value], index) => html`${index === 0 ? null : ', '}${name} ${given(value)}`)}
  </p>`;
}

function standingKey({ facts }: OperationView): string {
  return `facts ${facts.length}`;
}

function words({ operation, revisions }: OperationView): string {
  const standing = revisions.at(-1)?.standing.state;
  if (operation !== null) return `now ${OUTCOME_TEXT[operation.state]}`;
  return standing === undefined ? 'there is more on record' : `now ${STANDING_TEXT[standing]}`;
}
