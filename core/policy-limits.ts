import { LONGEST_WAIT_MS } from './call';
import { EMERGENCY_MS } from './grant';
import type { DeadlineSpec } from './policy';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A span of time that a policy key may state, in milliseconds; both ends are allowed. */
export type DurationBounds = { readonly minMs: number; readonly maxMs: number };

/** An authentication context class that a rule may name: it fits into an address and a quoted header as it is. */
export const AUTHENTICATION_CLASS = /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/;

/** Bounds of the policy file, as `docs/policy.md` states them. */
export const POLICY_LIMITS = {
  fileBytes: 1_048_576,
  depth: 24,
  wait: { minMs: SECOND_MS, maxMs: LONGEST_WAIT_MS },
  /** Each reminder costs events of the one history that a turn has, and a request may wait for 30 days. */
  remind: { minMs: 10 * MINUTE_MS, maxMs: LONGEST_WAIT_MS },
  toolTimeout: { minMs: SECOND_MS, maxMs: HOUR_MS },
  settleAfter: { minMs: 0, maxMs: HOUR_MS },
  lookUpBudget: { minMs: SECOND_MS, maxMs: DAY_MS },
  window: { minMs: SECOND_MS, maxMs: LONGEST_WAIT_MS },
  reviewWithin: { minMs: SECOND_MS, maxMs: LONGEST_WAIT_MS },
  /** Nobody signs in, reads and answers in less. */
  signInWithin: { minMs: 30 * SECOND_MS, maxMs: LONGEST_WAIT_MS },
  /** All of them travel in one cookie while somebody signs in. */
  signInClasses: 8,
  emergencyWindowMs: EMERGENCY_MS,
  uses: 10_000,
  quorum: 50,
  escalations: 10,
} as const;

/** What holds where a policy says nothing. */
export const POLICY_DEFAULTS = {
  deadlineAfterMs: DAY_MS,
  remindEveryMs: DAY_MS,
  toolTimeoutMs: MINUTE_MS,
  settleAfterMs: 10 * SECOND_MS,
  lookUpBudgetMs: 5 * MINUTE_MS,
  reviewWithinMs: 3 * DAY_MS,
} as const;

/** Where no deadline is written: nobody answered for a day, so the call expires, not executed. */
export const DEFAULT_DEADLINE: DeadlineSpec = {
  afterMs: POLICY_DEFAULTS.deadlineAfterMs,
  then: 'expire',
  remindEveryMs: null,
};
