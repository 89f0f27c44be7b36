import { html } from 'hono/html';
import { EMERGENCY_MS } from '../../core/grant';
import { describeStep } from '../../core/judge-decision';
import { signInNeedText } from '../../core/sign-in';
import type { EmergencyOffer, MayAnswer, OverdueReview, RequestView } from '../ports';
import { hiddenFields } from './decision-forms';
import { named } from './given';
import type { Html } from './layout';
import { signInAgain } from './sign-in-again';
import { absolute } from './time';
import { duration, validityText } from './words';

/** What makes the form this session's and this decision's. */
export interface EmergencyKeys {
  readonly csrf: string;
  readonly emergencyId: string;
}

/** What was typed before, where the form is shown again. */
export interface TypedEmergency {
  readonly ticket: string;
  readonly reason: string;
}

/** For those whom an emergency rule names: what it would permit, whom it skips, what follows; and its form. */
export function emergencyForms(view: RequestView, keys: EmergencyKeys): Html | null {
  if (view.latestRevision > view.request.revision || view.emergencies.length === 0) return null;
  return html`${view.emergencies.map((offer) => offerView(view, offer, keys))}`;
}

function offerView(view: RequestView, offer: EmergencyOffer, keys: EmergencyKeys): Html {
  return html`<details class="emergency">
    <summary>In an emergency: rule ${named(offer.rule)}</summary>
    ${followsView(view, offer)}
    ${offer.may.ok ? emergencyForm(view, offer, { keys, typed: null }) : refusedView(view, offer, offer.may)}
  </details>`;
}

function followsView({ request }: RequestView, { ask, skipped, reviewers, reviewWithinMs }: EmergencyOffer): Html {
  const instead = request.ask.steps.filter(({ kind }) => kind === 'rule').map(describeStep);
  // Where nobody is left to review it, the refusal below says so.
  const review =
    reviewers.length === 0
      ? null
      : html`One of ${named(reviewers.join(', '))} has to review it within ${duration(reviewWithinMs)}: until then its
        review is open, and once that is overdue every next emergency is refused.`;
  return html`<p>
      ${named(ask.steps.map(describeStep).join(', then '))} may allow in place of ${named(instead.join(', then '))}.
      That permits ${permitsText(ask)}, and is on record as an emergency.
      ${ask.signIn === undefined ? null : html`Here, ${named(signInNeedText(ask.signIn))}.`}
    </p>
    <p>It skips ${named(skipped.join(', '))}, who are told at once. ${review}</p>`;
}

function permitsText({ validity, bind }: EmergencyOffer['ask']): Html {
  const isTimed = validity.kind === 'window' && validity.durationMs !== null;
  return html`${named(validityText(validity, bind))}${isTimed ? null : `, within ${duration(EMERGENCY_MS)} of the allow`}`;
}

function refusedView(
  { request }: RequestView,
  { overdue, ask }: EmergencyOffer,
  { code, detail }: Extract<MayAnswer, { ok: false }>,
): Html {
  const isBlocked = code === 'emergencyRefused' && overdue !== null;
  return html`<p class="not-offered">
      You cannot use it now: ${isBlocked ? overdueText(overdue) : html`${named(detail.replace(/\.$/, ''))}.`}
    </p>
    ${code === 'signInNeeded' ? html`<p>${signInAgain(request.operationId, ask.signIn)}</p>` : null}`;
}

function overdueText({ grantId, dueAtMs, isTheirs }: OverdueReview): Html {
  const review = isTheirs
    ? html`<a href="/retrospectives#${grantId}">the review of an earlier emergency</a>`
    : html`the review of an earlier emergency, <code>${grantId}</code>, which is none that you may see,`;
  return html`${review} is overdue since ${absolute(dueAtMs)}. It has to be closed first.`;
}

/** The form of one emergency rule; shown again, it has what was typed, and its box is ticked anew. */
export function emergencyForm(
  { request }: RequestView,
  { rule }: EmergencyOffer,
  { keys, typed }: { readonly keys: EmergencyKeys; readonly typed: TypedEmergency | null },
): Html {
  const { csrf, emergencyId } = keys;
  const [ticketId, reasonId, readId] = [`ticket-${rule}`, `why-${rule}`, `read-${rule}`];
  return html`<form class="decision" method="post" action="/requests/${request.operationId}/decision">
    ${hiddenFields({ ...request, csrf, decisionId: `${emergencyId}-${rule}`, answer: 'allow' })}
    <input type="hidden" name="rule" value="${rule}" />
    <p>
      <label for="${ticketId}">Ticket of the incident</label>
      <input
        type="text"
        id="${ticketId}"
        name="ticket"
        value="${typed?.ticket ?? ''}"
        maxlength="300"
        required
        autocomplete="off"
      />
    </p>
    <p>
      <label for="${reasonId}">Why it cannot wait</label>
      <textarea id="${reasonId}" name="reason" rows="2" maxlength="4000" required autocomplete="off">
${typed?.reason ?? ''}</textarea>
    </p>
    <p class="tick">
      <input type="checkbox" id="${readId}" name="read" value="yes" required autocomplete="off" />
      <label for="${readId}">I have read what will run, and know that this skips its approvers.</label>
    </p>
    <button class="deny" type="submit">Allow as an emergency</button>
  </form>`;
}
