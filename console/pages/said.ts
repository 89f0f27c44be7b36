import { html } from 'hono/html';
import type { GrantsView, OperationView, RequestView, Viewer } from '../ports';
import { named } from './given';
import type { Html } from './layout';
import { OUTCOME_TEXT, STANDING_TEXT } from './words';

/** What was just done, as the address says it. It is said only where the record says so too: anybody can make a link. */
export function saidOfRequest(said: string | undefined, view: RequestView, viewer: Viewer): Html | null {
  if (said === 'already') return alreadyText(view);
  const answer = said === 'allowed' ? 'allow' : said === 'denied' ? 'deny' : null;
  const own = view.decisions.find(
    (decision) =>
      decision.reviewer === viewer.name && decision.revision === view.request.revision && decision.answer === answer,
  );
  if (own === undefined) return null;
  return flash(own.answer === 'allow' ? allowText(view) : DENIED);
}

const DENIED =
  'Your denial is on record. The request is closed, nothing of it is executed, and the agent is told your reason.';

function allowText({ standing, people }: RequestView): string {
  if (standing.state === 'allowed') return 'Your allow is on record, and the request is allowed.';
  if (standing.state !== 'pending')
    return `Your allow is on record. The request is now ${STANDING_TEXT[standing.state]}.`;
  const soFar = people === null ? '' : `: ${people.allows} of ${people.needed} so far`;
  return `Your allow is on record and counts${soFar}. It still waits for others.`;
}

function alreadyText({ standing }: RequestView): Html | null {
  if (standing.state === 'pending') return null;
  return flash(
    `Others gave the same answer before you: the request is ${STANDING_TEXT[standing.state]}. Yours changed nothing.`,
  );
}

/** Of an outcome that the viewer has just stated. */
export function saidOfOperation(said: string | undefined, { operation }: OperationView, viewer: Viewer): Html | null {
  if (said !== 'settled' || operation?.settledBy !== viewer.name) return null;
  return flash(`The outcome is on record under your name: ${OUTCOME_TEXT[operation.state]}.`);
}

/** Of a grant that the viewer has just revoked. */
export function saidOfGrants(said: string | undefined, { grants }: GrantsView, viewer: Viewer): Html | null {
  const grant = grants.find(({ grantId, revokedBy }) => grantId === said && revokedBy === viewer.name);
  if (grant === undefined) return null;
  return html`<p class="flash" role="status">
    The grant for ${named(grant.server)} / ${named(grant.tool)} is revoked and permits nothing more. What was sent under
    it before (${grant.uses}) stays sent.
  </p>`;
}

function flash(text: string): Html {
  return html`<p class="flash" role="status">${text}</p>`;
}
