import { html } from 'hono/html';
import type { Verdict, VerdictCode } from '../../core/decision';
import type { Decided, GivenDecision, RequestView } from '../ports';
import { hiddenFields } from './decision-forms';
import { emergencyForm } from './emergency-forms';
import { named } from './given';
import type { Html } from './layout';
import { argumentsView } from './material-view';
import { messagePage } from './message-page';
import { answersView } from './permit-view';
import { STANDING_TEXT } from './words';
import { signInAgain } from './sign-in-again';
import { writtenView } from './written';

/** Verdicts that say that an answer does not count; the two others lead back to the request. */
type Uncounted = Exclude<VerdictCode, 'accepted' | 'alreadyDecided'>;

interface VerdictWords {
  readonly status: 400 | 403 | 409 | 413 | 422 | 429 | 503;
  readonly title: string;
}

const VERDICTS: Readonly<Record<Uncounted, VerdictWords>> = {
  conflict: { status: 409, title: 'Another answer stands' },
  late: { status: 409, title: 'The deadline has passed' },
  stale: { status: 409, title: 'The request has changed since you read it' },
  unknownRequest: { status: 409, title: 'This request is not open' },
  notAReviewer: { status: 403, title: 'You are not asked about this' },
  selfApproval: { status: 403, title: 'You stand behind this request' },
  badSignature: { status: 403, title: 'Your decision was not accepted as yours' },
  cannotWiden: { status: 422, title: 'This is more than the rule gives' },
  emergencyRefused: { status: 422, title: 'This does not count as an emergency' },
  signInNeeded: { status: 403, title: 'Sign in again to allow this' },
  malformed: { status: 400, title: 'This form cannot be read' },
  tooLarge: { status: 413, title: 'This is too long' },
  limit: { status: 429, title: 'Too many answers at once' },
  notRecorded: { status: 503, title: 'Your decision is not on record yet' },
};

const REFUSALS: Readonly<Record<(Decided & { kind: 'refused' })['code'], VerdictWords>> = {
  NOT_SHOWN: { status: 409, title: 'This cannot be allowed' },
  OTHER_REVIEWER: { status: 400, title: 'A decision is your own' },
  REASON_MISSING: { status: 422, title: 'A denial needs its reason' },
};

export interface Answered {
  readonly given: GivenDecision;
  readonly csrf: string;
  /** For the form of another decision, where one is shown. */
  readonly nextId: string;
  /** The request as it is now; null where the viewer may not see it. */
  readonly view: RequestView | null;
}

/** What became of a decision that does not count, what is true now, and what to do. */
export function verdictPage(verdict: Verdict & { code: Uncounted }, answered: Answered): VerdictWords & { body: Html } {
  const words = VERDICTS[verdict.code];
  const isLost = verdict.code === 'notRecorded';
  const body = messagePage({
    title: words.title,
    happened: html`${sentence(verdict.detail)} ${standingText(verdict, answered.view)}`,
    recorded: isLost
      ? 'The ledger did not confirm it in time, so it may be on record or not. Sending it again is safe: it is the same decision and counts once.'
      : `Your ${answered.given.answer} does not count.`,
    next: isLost ? sendAgain(answered) : toRequest(answered, verdict),
    more: html`${isLost ? null : onceMore(answered)}${answered.view === null ? null : answersView(answered.view)}`,
  });
  return { ...words, body };
}

/** What was refused before it was sent. */
export function refusedPage(
  { code, detail }: Decided & { kind: 'refused' },
  { given }: Pick<Answered, 'given'>,
): VerdictWords & { body: Html } {
  const words = REFUSALS[code];
  const body = messagePage({
    title: words.title,
    happened: sentence(detail),
    recorded: 'Nothing was recorded.',
    next: html`<a href="/requests/${given.operationId}">Back to the request</a>`,
    more: writtenView(wordsOf(given)),
  });
  return { ...words, body };
}

/**
 * What was written; for an emergency that could count once it is put right, in its form, with what would run beside it
 * as it was read before. Where the request has changed since, it is to be read first.
 */
function onceMore({ given, csrf, nextId, view }: Answered): Html | null {
  const { emergency, reason = '', digest, revision } = given;
  const offer = view?.emergencies.find(({ rule, may }) => rule === emergency?.rule && may.ok);
  if (view === null || offer === undefined || view.latestRevision > revision || view.request.bindingDigest !== digest)
    return writtenView(wordsOf(given));
  const again = { keys: { csrf, emergencyId: nextId }, typed: { ticket: emergency?.ticket ?? '', reason } };
  return html`<section aria-labelledby="again">
    <h2 id="again">Once more, as an emergency under ${named(offer.rule)}</h2>
    ${argumentsView(view.request, view.nowMs)} ${emergencyForm(view, offer, again)}
  </section>`;
}

function wordsOf({ reason, emergency }: GivenDecision): readonly (string | undefined)[] {
  return [emergency?.ticket, reason];
}

function sentence(detail: string): Html {
  return html`<span class="detail"
    >${named(detail.replace(/^[a-z](?=[a-z']* )/, (letter) => letter.toUpperCase()))}${/[.!?]$/.test(detail) ? '' : '.'}</span
  >`;
}

function standingText(verdict: Verdict, view: RequestView | null): Html | null {
  if (view === null) return null;
  const by = verdict.decidedBy.length === 0 ? null : html` by ${named(verdict.decidedBy.join(', '))}`;
  return html`The request now
  ${view.standing.state === 'pending' ? null : 'is '}${STANDING_TEXT[view.standing.state]}${by}.`;
}

function toRequest({ view, given }: Answered, verdict: Verdict): Html {
  if (view === null) return html`<a href="/">To the requests that wait for you</a>`;
  const again = verdict.code === 'signInNeeded' ? againBy(view, given) : null;
  if (again !== null) return again;
  const to = html`/requests/${given.operationId}`;
  if (verdict.code === 'stale' || view.latestRevision > given.revision) {
    return html`<a href="${to}">Read revision ${view.latestRevision}</a>, then decide on that.`;
  }
  return html`<a href="${to}">Read the request as it is now</a>`;
}

/** Only where the sign-in is what is missing now, too: a console that signs nothing has no use for a newer one. */
function againBy(view: RequestView, { operationId, emergency }: GivenDecision): Html | null {
  const offer = view.emergencies.find(({ rule }) => rule === emergency?.rule);
  const may = emergency === undefined ? view.mayAllow : offer?.may;
  if (may === undefined || may.ok || may.code !== 'signInNeeded') return null;
  return signInAgain(operationId, (offer ?? view.request).ask.signIn);
}

/** The same decision, to the letter: it is on record once, however often it is sent. */
function sendAgain({ given, csrf }: Answered): Html {
  const { decisionId, revision, digest, answer, reason, minutes, emergency } = given;
  return html`<form class="decision" method="post" action="/requests/${given.operationId}/decision">
    ${hiddenFields({ csrf, decisionId, revision, bindingDigest: digest, answer })}
    ${answer === 'allow' ? html`<input type="hidden" name="read" value="yes" />` : null}
    ${reason === undefined ? null : html`<input type="hidden" name="reason" value="${reason}" />`}
    ${minutes === undefined ? null : html`<input type="hidden" name="minutes" value="${minutes}" />`}
    ${
      emergency === undefined
        ? null
        : html`<input type="hidden" name="rule" value="${emergency.rule}" /><input
              type="hidden"
              name="ticket"
              value="${emergency.ticket}"
            />`
    }
    <button type="submit">Send the same ${answer} again</button>
  </form>`;
}
