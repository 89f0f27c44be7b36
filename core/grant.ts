import type { Ask } from './evaluation';
import type { BindMode, Policy, Validity } from './policy';
import { serverOf } from './policy-lookup';
import { signInCovers } from './sign-in';
import type { JsonValue } from './json';
import { LONGEST_WAIT_MS } from './call';

/** What an allowed request was allowed under: stored with its grant. */
export interface GrantTerms {
  readonly v: 1;
  readonly ask: Ask;
  readonly deciders: readonly string[];
  readonly verified: boolean;
  readonly policyVersion: number;
  readonly resourceVersion: JsonValue;
}

/** A `once` grant that nobody uses ends after a day: who asked in the evening may come back in the morning. */
export const ONCE_GRANT_MS = 24 * 3_600_000;

/** An emergency is over soon, whatever is allowed under it. */
export const EMERGENCY_MS = 15 * 60_000;

/** For a window without a limit of uses. */
export const UNLIMITED_USES = 2 ** 31 - 1;

export interface GrantExtent {
  readonly once: boolean;
  readonly maxUses: number;
  readonly expiresAtMs: number;
}

/** How far a grant reaches that is given at `nowMs`; a reviewer's `minutes` can only shorten it. */
export function extentOf(
  { validity, emergency }: Pick<Ask, 'validity' | 'emergency'>,
  minutes: number | null,
  nowMs: number,
): GrantExtent {
  const mostMs = emergency ? EMERGENCY_MS : LONGEST_WAIT_MS;
  if (validity.kind === 'once') return { once: true, maxUses: 1, expiresAtMs: nowMs + Math.min(ONCE_GRANT_MS, mostMs) };
  const ruleMs = Math.min(validity.durationMs ?? mostMs, mostMs);
  const durationMs = minutes === null ? ruleMs : Math.min(ruleMs, minutes * 60_000);
  return { once: false, maxUses: validity.uses ?? UNLIMITED_USES, expiresAtMs: nowMs + durationMs };
}

/** Whether a reviewer asks for more than the rule gives: a longer window, or any window where the rule says once. */
export function widens(validity: Validity, minutes: number | null): boolean {
  if (minutes === null) return false;
  if (validity.kind === 'once') return true;
  return validity.durationMs !== null && minutes * 60_000 > validity.durationMs;
}

const STRICTNESS: Readonly<Record<BindMode, number>> = { arguments: 2, material: 1, tool: 0 };

/** Whether the runtime asks the requester's own human about this very call: no window answers that for them. */
export function asksOwnHuman(ask: Ask): boolean {
  return ask.steps.some((step) => step.kind === 'confirm');
}

/** Same deciding rule and same matched rules, each in the same version. */
export function sameRules(granted: Ask, now: Ask): boolean {
  const key = (ask: Ask) =>
    [ask.rule, ...ask.matched].map((rule) => `${rule?.id ?? ''}@${rule?.version ?? ''}`).join(' ');
  return key(granted) === key(now);
}

/**
 * Whether what was granted is at least as strict as what the active rules ask now, quorum aside: the caller judges the
 * recorded decisions by the active rule's approvers.
 */
export function termsStillCover(granted: Ask, now: Pick<Ask, 'bind' | 'validity' | 'signIn'>): boolean {
  if (!signInCovers(granted.signIn, now.signIn)) return false;
  return STRICTNESS[granted.bind] >= STRICTNESS[now.bind] && validityCovers(granted.validity, now.validity);
}

/**
 * Whether a call could still use the grant under `policy`: the server is there, and a rule that may ask about the tool
 * asks for no more than was granted. What only the call itself tells (conditions, annotations) counts as given.
 */
export function couldStillCover(policy: Policy, { server, tool, ask }: GrantSpot): boolean {
  if (serverOf(policy, server) === undefined) return false;
  if (ask.rule === null) return true;
  return policy.rules
    .filter((rule) => rule.server === server && (rule.scope.kind !== 'tools' || rule.scope.tools.includes(tool)))
    .some((rule) => rule.version === ask.rule?.version || termsStillCover(ask, rule));
}

/** What a grant is for. */
export interface GrantSpot {
  readonly server: string;
  readonly tool: string;
  readonly ask: Ask;
}

function validityCovers(granted: Validity, now: Validity): boolean {
  if (granted.kind === 'once') return true;
  if (now.kind === 'once') return false;
  const within = (a: number | null, b: number | null) => b === null || (a !== null && a <= b);
  const totals = Object.entries(now.total).every(([field, limit]) => within(granted.total[field] ?? null, limit));
  return within(granted.uses, now.uses) && within(granted.durationMs, now.durationMs) && totals;
}

/** The sums after one more use, or null where a total would be crossed or an amount is missing. */
export function addToTotals(
  validity: Validity,
  used: Readonly<Record<string, number>>,
  amounts: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> | null {
  if (validity.kind === 'once') return used;
  const next = { ...used };
  for (const [field, limit] of Object.entries(validity.total)) {
    const amount = amounts[field];
    if (amount === undefined || amount < 0) return null;
    const sum = (used[field] ?? 0) + amount;
    if (sum > limit) return null;
    next[field] = sum;
  }
  return next;
}
