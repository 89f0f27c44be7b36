import { html } from 'hono/html';
import { describeStep } from '../../core/judge-decision';
import type { EmergencyOffer, RequestView } from '../ports';
import { hiddenFields, type FormKeys } from './decision-forms';
import { named } from './given';
import type { Html } from './layout';
import { duration, validityText } from './words';

/** For those whom an emergency rule names: what it would permit, whom it skips, what follows; and its form. */
export function emergencyForms(view: RequestView, keys: FormKeys): Html | null {
  if (view.latestRevision > view.request.revision || view.emergencies.length === 0) return null;
  return html`${view.emergencies.map((offer) => offerView(view, offer, keys))}`;
}

function offerView(view: RequestView, offer: EmergencyOffer, keys: FormKeys): Html {
  const { rule, ask, reviewWithinMs, may } = offer;
  const skipped = view.request.ask.steps.filter(({ kind }) => kind === 'rule').map(describeStep);
  return html`<details class="emergency">
    <summary>In an emergency: rule ${named(rule)}</summary>
    <p>
      You may allow in place of ${named(skipped.join(', '))}. They are told at once, and one of them has to review it
      within ${duration(reviewWithinMs)}. It permits ${named(validityText(ask.validity, ask.bind))}, for 15 minutes at
      most, and is on record as an emergency.
    </p>
    ${
      may.ok
        ? emergencyForm(view, offer, keys)
        : html`<p class="not-offered">You cannot use it now: ${named(may.detail.replace(/\.$/, ''))}.</p>`
    }
  </details>`;
}

function emergencyForm({ request }: RequestView, { rule }: EmergencyOffer, keys: FormKeys): Html {
  return html`<form class="decision" method="post" action="/requests/${request.operationId}/decision">
    ${hiddenFields({ ...request, csrf: keys.csrf, decisionId: `${keys.emergencyId}-${rule}`, answer: 'allow' })}
    <input type="hidden" name="rule" value="${rule}" />
    <p>
      <label for="ticket-${rule}">Ticket of the incident</label>
      <input type="text" id="ticket-${rule}" name="ticket" maxlength="300" required autocomplete="off" />
    </p>
    <p>
      <label for="why-${rule}">Why it cannot wait</label>
      <textarea id="why-${rule}" name="reason" rows="2" maxlength="4000" required autocomplete="off"></textarea>
    </p>
    <p class="tick">
      <input type="checkbox" id="read-${rule}" name="read" value="yes" required autocomplete="off" />
      <label for="read-${rule}">I have read what will run, and know that this skips its approvers.</label>
    </p>
    <button class="deny" type="submit">Allow as an emergency</button>
  </form>`;
}
