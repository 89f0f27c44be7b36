import { html } from 'hono/html';
import type { OperationRecord } from '../../ledger/queries';
import type { Page } from '../ports';
import { given, named } from './given';
import type { Html } from './layout';
import { linkWith } from './link-with';
import { absolute } from './time';
import { EVIDENCE_TEXT, OUTCOME_TEXT } from './words';

export interface OperationsPage {
  readonly page: Page<OperationRecord>;
  /** Null: of every state. */
  readonly state: OperationRecord['state'] | null;
}

const STATES = ['unknown', 'dispatched', 'executed', 'failed'] as const;

/** Operations that were sent, the newest first. */
export function operationsPage({ page: { items, next }, state }: OperationsPage): Html {
  const filters = [
    { name: 'All', href: '/operations', isCurrent: state === null },
    ...STATES.map((each) => ({
      name: OUTCOME_TEXT[each].replace(/^./, (letter) => letter.toUpperCase()),
      href: linkWith('/operations', { state: each }),
      isCurrent: each === state,
    })),
  ];
  return html`<header class="lead">
      <h1>${state === null ? 'Operations' : `Operations: ${OUTCOME_TEXT[state]}`}</h1>
      <nav class="filters" aria-label="Which operations">
        <ul>
          ${filters.map(
            ({ name, href, isCurrent }) =>
              html`<li><a href="${href}" ${isCurrent ? html`aria-current="page"` : null}>${name}</a></li>`,
          )}
        </ul>
      </nav>
    </header>
    <div id="list">
      ${items.length === 0 ? emptyView(state) : null}
      <ol class="requests">
        ${items.map(rowView)}
      </ol>
      ${
        next === null
          ? null
          : html`<p>
              <a rel="next" href="${linkWith('/operations', { ...(state === null ? {} : { state }), cursor: next })}"
                >The next page</a
              >
            </p>`
      }
    </div>`;
}

function emptyView(state: OperationRecord['state'] | null): Html {
  if (state === 'unknown') return html`<p class="empty">No outcome that you may see waits to be settled.</p>`;
  return html`<p class="empty">No operation that you may see is here.</p>`;
}

function rowView(operation: OperationRecord): Html {
  const { operationId, server, tool, state, evidence, requester, dispatchedAtMs, isError } = operation;
  const by =
    evidence === null ? null : html` <span class="hint">by ${named(EVIDENCE_TEXT[evidence] ?? evidence)}</span>`;
  return html`<li class="row" id="o-${operationId}">
    <p class="what">
      <a href="/operations/${operationId}">${named(server)} / ${named(tool)}</a>
      <span class="state ${state}">${OUTCOME_TEXT[state]}</span>
    </p>
    <p class="asks">for ${given(requester.subject)} by ${given(requester.agent)}</p>
    <p class="due">sent ${absolute(dispatchedAtMs)}<br />${by}${isError === true ? ', with an error' : null}</p>
  </li>`;
}
