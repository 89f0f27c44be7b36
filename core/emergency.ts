import type { Decision } from './decision';
import type { Ask, CallFacts } from './evaluation';
import { isBlank } from './display';
import { withinTotals } from './evaluate-policy';
import {
  judgeAllow,
  judgeSpeaker,
  judgeStanding,
  none,
  type Judged,
  type Judgement,
  type SignatureCheck,
} from './judge-decision';
import type { Policy, Rule } from './policy';
import { conditionsHold } from './policy-conditions';
import { emergencyReviewers } from './retrospective';
import { strictestSignIn } from './sign-in';
import { strictestValidity } from './strictest';

/** What an emergency rule looks at of a call. */
export type EmergencyFacts = Pick<CallFacts, 'server' | 'tool' | 'material'>;

/**
 * What each emergency rule of the policy would ask about a call that `ask` asks about: its own approvers in place of
 * those of the deciding rule, for as short as the strictest of all. The requester's own human is still asked, and so a
 * question of theirs alone cannot be skipped. A condition on a missing value does not hold: an emergency lets in.
 */
export function emergencyAsks(policy: Policy, facts: EmergencyFacts, ask: Ask): readonly Ask[] {
  if (ask.rule === null) return [];
  return policy.rules.filter((rule) => refusalBy(rule, facts) === null).map((rule) => askUnder(rule, facts, ask));
}

/** Under the rule of `granted`, what the policy asks now: an emergency is measured by its own rule. */
export function askLike(granted: Ask, now: Ask, emergencies: readonly Ask[]): Ask | null {
  if (!granted.emergency) return now;
  return emergencies.find((ask) => ask.rule?.id === granted.rule?.id) ?? null;
}

function askUnder(
  { id, version, approvers, selfApproval, validity, signIn: ofRule }: Rule,
  { material }: EmergencyFacts,
  ask: Ask,
): Ask {
  const signIn = strictestSignIn([ask.signIn, ofRule]);
  return {
    ...ask,
    rule: { id, version },
    matched: [...ask.matched, { id, version, scope: 'tools' }],
    steps: [...ask.steps.filter(({ kind }) => kind === 'confirm'), { kind: 'rule', approvers, selfApproval }],
    validity: withinTotals(strictestValidity([ask.validity, validity]), { material }),
    escalate: [],
    emergency: true,
    ...(signIn !== undefined && { signIn }),
  };
}

/** How soon an emergency under this rule has to be reviewed; null for a rule that is none. */
export function reviewWithinMs({ rules }: Policy, id: string): number | null {
  const emergency = rules.find((rule) => rule.id === id)?.emergency ?? false;
  return emergency === false ? null : emergency.reviewWithinMs;
}

function refusalBy({ id, emergency, server, scope, when }: Rule, facts: EmergencyFacts): string | null {
  if (emergency === false) return `rule ${id} is no emergency rule`;
  if (server !== facts.server || scope.kind !== 'tools' || !scope.tools.includes(facts.tool))
    return `emergency rule ${id} does not name ${facts.server}/${facts.tool}`;
  if (conditionsHold(when, facts.material) !== 'yes') return `the conditions of emergency rule ${id} do not hold`;
  return null;
}

export type EmergencyDecision = Decision & { readonly emergency: NonNullable<Decision['emergency']> };

/** What decides about an emergency beside the request itself. */
export interface EmergencyCircumstances {
  readonly facts: EmergencyFacts;
  /** The emergency whose review should have been closed by now; null where none is. */
  readonly overdue: { readonly id: string; readonly dueAtMs: number } | null;
}

/**
 * What an allow under an emergency rule is worth, and the question that it answers. It skips the approvers of the
 * deciding rule, so it needs a rule that names the tool, a ticket and a reason, and no earlier emergency whose review is
 * overdue.
 */
export function judgeEmergency(
  ordinary: Judgement,
  decision: EmergencyDecision,
  at: { signature: SignatureCheck; nowMs: number } & EmergencyCircumstances,
): { readonly judged: Judged; readonly ask: Ask } {
  const { rule: id } = decision.emergency;
  const found = emergencyAsks(ordinary.policy, at.facts, ordinary.ask).find((ask) => ask.rule?.id === id);
  if (found === undefined) return { judged: withoutRule(ordinary, decision, at), ask: ordinary.ask };
  const judgement = { ...ordinary, ask: found };
  const judged =
    judgeSpeaker(judgement, decision, at.signature) ??
    judgeStanding(judgement, decision, at.nowMs) ??
    judgeClaim({ ordinary, decision, overdue: at.overdue }) ??
    judgeAllow(judgement, decision, at);
  return { judged, ask: found };
}

function withoutRule(
  ordinary: Judgement,
  decision: EmergencyDecision,
  { signature, facts }: { signature: SignatureCheck; facts: EmergencyFacts },
): Judged {
  const named = ordinary.policy.rules.find(({ id }) => id === decision.emergency.rule);
  // Who could use the rule elsewhere may know why not here; to a stranger the request is none of theirs.
  const asked: Ask =
    named === undefined || named.emergency === false
      ? ordinary.ask
      : { ...ordinary.ask, steps: [...ordinary.ask.steps, { kind: 'rule', ...named }] };
  const stranger = judgeSpeaker({ ...ordinary, ask: asked }, decision, signature);
  if (stranger !== null) return stranger;
  if (named === undefined) return refused(`the policy has no rule ${decision.emergency.rule}`);
  return refused(refusalBy(named, facts) ?? 'only the requester themselves is asked: there is nobody to skip');
}

interface Claim {
  readonly ordinary: Judgement;
  readonly decision: EmergencyDecision;
  readonly overdue: EmergencyCircumstances['overdue'];
}

function judgeClaim({ ordinary, decision, overdue }: Claim): Judged | null {
  const { ticket } = decision.emergency;
  if (decision.answer === 'deny') return refused('a denial needs no emergency: leave it out');
  if (isBlank(ticket)) return refused('an emergency needs the id of its ticket');
  if (isBlank(decision.reason ?? '')) return refused('an emergency needs a reason');
  if (overdue === null) return reviewable(ordinary, decision) ? null : refused(NOBODY_REVIEWS);
  const since = new Date(overdue.dueAtMs).toISOString();
  return refused(`the review of emergency ${overdue.id} is overdue since ${since}; close it first`);
}

const NOBODY_REVIEWS = 'nobody who is skipped is left to review it afterwards';

function reviewable(
  { policy, ask, requester, counted }: Judgement,
  { reviewer, emergency }: EmergencyDecision,
): boolean {
  const under = counted.filter((entry) => entry.answer === 'allow' && entry.emergency === emergency.rule);
  const deciders = [...under.map((entry) => entry.reviewer), reviewer];
  return emergencyReviewers(policy, { ask, requester, deciders }).length > 0;
}

function refused(detail: string): Judged {
  return none('emergencyRefused', detail);
}
