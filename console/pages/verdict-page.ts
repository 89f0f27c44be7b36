import { html } from 'hono/html';
import type { Verdict, VerdictCode } from '../../core/decision';
import type { Decided, GivenDecision, RequestView } from '../ports';
import { hiddenFields } from './decision-forms';
import { givenValue, named } from './given';
import type { Html } from './layout';
import { messagePage } from './message-page';
import { answersView } from './permit-view';
import { STANDING_TEXT } from './words';

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
    more: html`${writtenView(answered.given)}${answered.view === null ? null : answersView(answered.view)}`,
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
    more: writtenView(given),
  });
  return { ...words, body };
}

/** What somebody took the time to write is not lost with the page that it was on. */
function writtenView({ reason, emergency }: GivenDecision): Html | null {
  const written = [...(emergency === undefined ? [] : [emergency.ticket]), ...(reason === undefined ? [] : [reason])];
  return written.length === 0
    ? null
    : html`<p>What you wrote: ${written.map((text) => html`${givenValue(text)} `)}</p>`;
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
  const to = html`/requests/${given.operationId}`;
  if (verdict.code === 'stale' || view.latestRevision > given.revision) {
    return html`<a href="${to}">Read revision ${view.latestRevision}</a>, then decide on that.`;
  }
  return html`<a href="${to}">Read the request as it is now</a>`;
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
