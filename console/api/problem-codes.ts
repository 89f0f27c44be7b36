import { GUARD_REFUSALS, type GuardRefusal } from '../guard-refusals';

/**
 * Every code of a problem that the API answers, with its HTTP status: verdicts as the ledger gives them, then what the
 * API itself refuses. `docs/console-api.md` lists them; a test compares the two.
 */
export const PROBLEMS = {
  conflict: { status: 409, title: 'Another answer stands' },
  late: { status: 409, title: 'The deadline has passed' },
  stale: { status: 409, title: 'Another revision or content is the latest' },
  unknownRequest: { status: 409, title: 'No such approval request is open' },
  notAReviewer: { status: 403, title: 'Not an approver of this request' },
  selfApproval: { status: 403, title: 'Nobody allows their own request' },
  badSignature: { status: 403, title: 'The signature does not count' },
  cannotWiden: { status: 422, title: 'A reviewer shortens a rule, and never widens it' },
  emergencyRefused: { status: 422, title: 'Not an emergency that counts' },
  signInNeeded: { status: 403, title: 'The rule asks for a newer or stronger sign-in' },
  malformed: { status: 422, title: 'The decision cannot be read' },
  tooLarge: { status: 413, title: 'The decision is too large' },
  limit: { status: 429, title: 'Too many decisions' },
  notRecorded: { status: 503, title: 'Not recorded yet' },
  INVALID_REQUEST: { status: 400, title: 'The request is not valid' },
  INVALID_CURSOR: { status: 400, title: 'The cursor is none that was given out' },
  OTHER_REVIEWER: { status: 400, title: 'A decision is given in the own name only' },
  REASON_MISSING: { status: 400, title: 'A denial needs a reason' },
  FOREIGN_HOST: asGuarded(GUARD_REFUSALS.host),
  FOREIGN_ORIGIN: asGuarded(GUARD_REFUSALS.origin),
  UNAUTHENTICATED: { status: 401, title: 'A valid API token is needed' },
  NOT_FOUND: { status: 404, title: 'There is no such thing' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'Not with this method' },
  NOT_SETTLED: { status: 409, title: 'The outcome is not settled' },
  NOT_REVERSED: { status: 409, title: 'The reversal is not recorded' },
  NOT_REVIEWED: { status: 409, title: 'The review is not closed' },
  NOT_SECOND_REVIEWED: { status: 409, title: 'The second review is not on record' },
  NOT_REVOKED: { status: 409, title: 'The grant is not revoked' },
  BODY_TOO_LARGE: { status: 413, title: 'The body is too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'The body is not JSON' },
  NOT_SHOWN: { status: 422, title: 'What cannot be shown cannot be allowed' },
  TOO_MANY_STREAMS: { status: 429, title: 'Too many streams are open' },
  INTERNAL: { status: 500, title: 'The console failed' },
  UNAVAILABLE: { status: 503, title: 'The ledger or Temporal is away' },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly title: string }>>;

export type ProblemCode = keyof typeof PROBLEMS;

/** What the guard answers before anything of the API is asked, by its own words. */
function asGuarded({ status, title }: GuardRefusal): Pick<GuardRefusal, 'status' | 'title'> {
  return { status, title };
}
