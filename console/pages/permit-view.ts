import { html } from 'hono/html';
import { ONCE_GRANT_MS } from '../../core/grant';
import { describeStep } from '../../core/judge-decision';
import { signInNeedText } from '../../core/sign-in';
import type { DecisionRecord } from '../../ledger/queries';
import type { RequestView } from '../ports';
import { given, givenValue, named } from './given';
import type { Html } from './layout';
import { absolute, moment } from './time';
import { brief, duration, EVIDENCE_TEXT, OUTCOME_TEXT, reversibleText, validityText } from './words';

/** What an allow would permit, until when it can be given, and by whom. */
export function permitView(view: RequestView): Html {
  const { request } = view;
  const { ask } = request;
  return html`<section aria-labelledby="permit">
    <h2 id="permit">What an allow permits</h2>
    <dl class="stack">
      <div>
        <dt>Permits</dt>
        <dd>
          ${named(validityText(ask.validity, ask.bind))}${
            ask.validity.kind === 'once' ? `, sent within ${duration(ONCE_GRANT_MS)} of the allow` : null
          }
        </dd>
      </div>
      <div>
        <dt>Undo</dt>
        <dd class="${request.reversible === 'no' ? 'caution' : ''}">${named(reversibleText(request.reversible))}</dd>
      </div>
      <div>
        <dt>Data class</dt>
        <dd>${request.classification === null ? 'not stated' : named(request.classification)}</dd>
      </div>
      <div>
        <dt>Deadline</dt>
        <dd>${deadlineView(view)}</dd>
      </div>
      <div>
        <dt>Asked</dt>
        <dd>${named(ask.steps.map(describeStep).join(', then '))}${peopleView(view)}</dd>
      </div>
      ${signInRow(request)} ${escalationRow(view)}
      <div>
        <dt>Rule</dt>
        <dd>${ruleView(request)}</dd>
      </div>
    </dl>
  </section>`;
}

function signInRow({ ask: { signIn } }: RequestView['request']): Html | null {
  if (signIn === undefined) return null;
  return html`<div>
    <dt>Sign-in</dt>
    <dd class="caution">${named(signInNeedText(signIn))}</dd>
  </div>`;
}

function deadlineView({ request, standing, nowMs }: RequestView): Html {
  const { deadline } = request.ask;
  if (standing.state !== 'pending') return closedView({ request, standing });
  const reminders =
    deadline.then === 'keepWaiting' ? `, with a reminder each ${duration(deadline.remindEveryMs ?? 0)} until then` : '';
  return html`${moment(request.deadlineAtMs, nowMs)}, then it expires and is not executed${reminders}`;
}

function closedView({ request, standing }: Pick<RequestView, 'request' | 'standing'>): Html {
  const { closedAtMs, closedReason } = standing;
  const closed = closedAtMs === null ? null : html`; closed ${absolute(closedAtMs)}`;
  const reason = closedReason === null ? null : html`: ${given(closedReason)}`;
  return html`${absolute(request.deadlineAtMs)}${closed}${reason}`;
}

function peopleView({ people, request }: RequestView): Html | null {
  if (people === null) return null;
  const names = people.able.map((name, index) => html`${index === 0 ? null : ', '}${named(name)}`);
  // Whose own confirmation is asked is named by the step itself.
  const isConfirmed = request.ask.steps.some(({ kind }) => kind === 'confirm');
  const nobody = isConfirmed ? null : html`; nobody may allow it now`;
  const able = people.able.length === 0 ? nobody : html`; may allow now: ${names}`;
  return html`${able}; ${people.allows} of ${people.needed} so far`;
}

/** The levels that were reached, and while the request is open those to come. */
function escalationRow({ request, standing, nowMs }: RequestView): Html | null {
  const { escalate } = request.ask;
  const levels = standing.state === 'pending' ? escalate : escalate.slice(0, standing.level);
  if (levels.length === 0) return null;
  const lines = levels.map(({ afterMs, to }, index) => {
    const verb = index < standing.level ? 'escalated' : 'escalates';
    const names = [...to.groups, ...to.people].join(', ');
    return html`<div>${moment(request.openedAtMs + afterMs, nowMs)}, ${verb} to ${named(names)}</div>`;
  });
  return html`<div>
    <dt>Escalation</dt>
    <dd>${lines}</dd>
  </div>`;
}

function ruleView({ ask, policyVersion }: RequestView['request']): Html {
  const others = ask.matched.filter(({ id }) => id !== ask.rule?.id).map(({ id }) => id);
  const rule = ask.rule === null ? 'the runtime itself' : html`${named(ask.rule.id)} @ ${brief(ask.rule.version)}`;
  const also = others.length === 0 ? null : html`; also matched: ${named(others.join(', '))}`;
  return html`${rule}, policy ${policyVersion}${also}`;
}

/** The decisions that count, of this revision and of those before. */
export function answersView({ request, decisions }: RequestView): Html | null {
  if (decisions.length === 0) return null;
  return html`<section aria-labelledby="answers">
    <h2 id="answers">Decisions on record</h2>
    <ul class="lines">
      ${decisions.map((decision) => decisionLine(decision, request.revision))}
    </ul>
  </section>`;
}

/** One decision in a line: who, what, by which way, and the reason in their own words. */
export function decisionLine(decision: DecisionRecord, revision: number): Html {
  const { answer, reviewer, minutes, reason, verified, channel, emergency, atMs } = decision;
  return html`<li>
    <strong>${answer === 'allow' ? 'Allowed' : 'Denied'}</strong> by ${named(reviewer)}
    ${emergency === null ? null : html`<strong class="caution">as an emergency, under rule ${named(emergency)}</strong>`}
    ${minutes === null ? null : `for ${minutes} min`}
    ${decision.revision === revision ? null : `(revision ${decision.revision})`} ${absolute(atMs)},
    ${verified ? html`signed` : html`<strong class="caution">UNVERIFIED: not signed</strong>`}, by ${named(channel)}
    ${reason === null ? null : html`<div>Reason: ${givenValue(reason)}</div>`}
  </li>`;
}

/** What became of the operation, where it was sent. */
export function outcomeView({ operation }: RequestView): Html | null {
  if (operation === null) return null;
  const { state, evidence, detail, endedAtMs, dispatchedAtMs } = operation;
  return html`<section aria-labelledby="outcome">
    <h2 id="outcome">What became of it</h2>
    <p>
      <span class="state ${state}">${OUTCOME_TEXT[state]}</span> ${absolute(endedAtMs ?? dispatchedAtMs)}${
        evidence === null ? null : html`, by ${named(EVIDENCE_TEXT[evidence] ?? evidence)}`
      }${operation.isError === true ? '; the tool answered with an error' : null}
    </p>
    ${detail === null ? null : html`<p>${givenValue(detail)}</p>`}
    <p><a href="/operations/${operation.operationId}">The whole story</a></p>
  </section>`;
}
