import { html } from 'hono/html';
import { showText } from '../../core/display';
import type { Validity } from '../../core/policy';
import { notShown } from '../../core/review';
import type { MayAnswer, RequestView, Viewer } from '../ports';
import { notShownText } from '../view-of';
import { unavailablePreview } from './change-view';
import { named } from './given';
import type { Html } from './layout';
import { signInAgain } from './sign-in-again';

/** What makes a form this session's and this decision's: made anew for each page, so a second click is no second decision. */
export interface FormKeys {
  readonly csrf: string;
  readonly allowId: string;
  readonly denyId: string;
  readonly emergencyId: string;
}

/**
 * The two answers, each where the viewer may give it, else the reason why not. Neither is one key or one click away:
 * an allow needs its box ticked, a deny its reason.
 */
export function decisionForms(view: RequestView, viewer: Viewer, keys: FormKeys): Html | null {
  if (view.standing.state !== 'pending' || view.latestRevision > view.request.revision) return null;
  return html`<section aria-labelledby="decide">
    <h2 id="decide">Your decision, as ${showText(viewer.name)}</h2>
    ${answers(view, viewer, keys)}
  </section>`;
}

function answers(view: RequestView, viewer: Viewer, keys: FormKeys): Html {
  const [mayAllow, { mayDeny }] = [readable(view), view];
  if (!mayAllow.ok && !mayDeny.ok && mayAllow.detail === mayDeny.detail) return notOffered('decide', mayAllow.detail);
  const hasAllowed = view.decisions.some(
    ({ reviewer, answer, revision }) =>
      reviewer === viewer.name && answer === 'allow' && revision === view.request.revision,
  );
  const noAllow = (why: NoAnswer): Html => (hasAllowed ? allowedBefore() : allowNotOffered(view, why));
  return html`${mayAllow.ok ? allowForm(view, keys) : noAllow(mayAllow)}
  ${mayDeny.ok ? denyForm(view, keys) : notOffered('deny', mayDeny.detail)}`;
}

function allowedBefore(): Html {
  return html`<p class="not-offered">You have allowed this; it still waits for others.</p>`;
}

/** What the page names as missing is allowed by nobody who reads it. */
function readable({ request, mayAllow }: RequestView): MayAnswer {
  const missing = notShown(request);
  if (missing.length === 0 || !mayAllow.ok) return mayAllow;
  return { ok: false, code: 'NOT_SHOWN', detail: notShownText(missing) };
}

type NoAnswer = Extract<MayAnswer, { ok: false }>;

function allowNotOffered({ request }: RequestView, { code, detail }: NoAnswer): Html {
  const again = code === 'signInNeeded' ? signInAgain(request.operationId, request.ask.signIn) : null;
  return html`${notOffered('allow', detail)}${again === null ? null : html`<p>${again}</p>`}`;
}

function notOffered(answer: 'allow' | 'deny' | 'decide', detail: string): Html {
  return html`<p class="not-offered">
    You cannot ${answer}${answer === 'decide' ? ' on' : ''} this: ${named(detail.replace(/\.$/, ''))}.
  </p>`;
}

function allowForm({ request }: RequestView, keys: FormKeys): Html {
  return html`<form class="decision" method="post" action="/requests/${request.operationId}/decision">
    ${hiddenFields({ ...request, csrf: keys.csrf, decisionId: keys.allowId, answer: 'allow' })}
    ${minutesField(request.ask.validity)}
    <p class="tick">
      <input type="checkbox" id="read" name="read" value="yes" required autocomplete="off" />
      <label for="read">${readText(request)}</label>
    </p>
    <button class="allow" type="submit">Allow</button>
  </form>`;
}

function readText(request: RequestView['request']): string {
  return unavailablePreview(request) === null
    ? 'I have read what will run and what it would change.'
    : 'I have read what will run, and know that what it would change is not known.';
}

function denyForm({ request }: RequestView, keys: FormKeys): Html {
  return html`<form class="decision" method="post" action="/requests/${request.operationId}/decision">
    ${hiddenFields({ ...request, csrf: keys.csrf, decisionId: keys.denyId, answer: 'deny' })}
    <p>
      <label for="reason">Why not? The agent is told these words.</label>
      <textarea id="reason" name="reason" rows="2" maxlength="4000" required autocomplete="off"></textarea>
    </p>
    <button class="deny" type="submit">Deny</button>
  </form>`;
}

function minutesField(validity: Validity): Html | null {
  if (validity.kind === 'once') return null;
  const most = validity.durationMs === null ? null : Math.max(1, Math.floor(validity.durationMs / 60_000));
  return html`<p class="minutes">
    <label for="minutes">For fewer minutes (optional${most === null ? null : `; the rule gives ${most}`})</label>
    <input
      type="number"
      id="minutes"
      name="minutes"
      min="1"
      max="${most ?? 525_600}"
      step="1"
      inputmode="numeric"
      autocomplete="off"
    />
  </p>`;
}

/** What a form carries unseen: which decision, on what exactly. */
export interface HiddenFields {
  readonly csrf: string;
  readonly decisionId: string;
  readonly revision: number;
  readonly bindingDigest: string;
  readonly answer: 'allow' | 'deny';
}

export function hiddenFields({ csrf, decisionId, revision, bindingDigest, answer }: HiddenFields): Html {
  return html`<input type="hidden" name="csrf" value="${csrf}" />
    <input type="hidden" name="decisionId" value="${decisionId}" />
    <input type="hidden" name="revision" value="${revision}" />
    <input type="hidden" name="digest" value="${bindingDigest}" />
    <input type="hidden" name="answer" value="${answer}" />`;
}
