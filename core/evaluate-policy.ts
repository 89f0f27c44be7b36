import { isDestructive } from './destructive';
import type { Refusal } from './errors';
import type { Ask, CallFacts, Step } from './evaluation';
import { addToTotals } from './grant';
import { amountsOf, readMaterial } from './material';
import type { BindMode, Policy, Rule, RuleScope, Validity } from './policy';
import { accessRefusal } from './policy-access';
import { conditionsHold } from './policy-conditions';
import { DEFAULT_DEADLINE } from './policy-limits';
import { strictestSignIn } from './sign-in';
import { strictestBind, strictestValidity } from './strictest';
import { unreachable } from './unreachable';

export { readMaterial };

/** What a policy says of a call: refused whatever anybody approves, or granted, with or without a question first. */
export type PolicyVerdict =
  { readonly access: 'granted'; readonly ask: Ask | null } | ({ readonly access: 'refused' } & Refusal);

const PRECEDENCE: Readonly<Record<RuleScope['kind'], number>> = { tools: 0, destructive: 1, all: 2 };

/**
 * Judges a call by a policy: access first, then the rules. Of the rules that match, a named one before `destructive`
 * before `all`, and the first in the file among equals, decides who is asked and until when; the strictest validity,
 * binding and sign-in of all of them apply. A condition on a missing value asks. Emergency rules ask about nothing
 * (`emergencyAsks`).
 * @param confirm the runtime's own question to the requester's human; it can only add a question.
 */
export function evaluate(policy: Policy, facts: CallFacts, confirm: boolean): PolicyVerdict {
  const refused = accessRefusal(policy, facts);
  if (refused !== null) return { access: 'refused', ...refused };
  const matched = matchingRules(policy, facts);
  const steps: readonly Step[] = confirm ? [{ kind: 'confirm', subject: facts.requester.subject }] : [];
  const [deciding] = matched;
  if (deciding !== undefined) return { access: 'granted', ask: askOf(deciding, matched, { steps, facts }) };
  return { access: 'granted', ask: confirm ? confirmOnly(steps) : null };
}

function matchingRules(policy: Policy, facts: CallFacts): readonly Rule[] {
  return policy.rules
    .filter((rule) => rule.emergency === false && rule.server === facts.server && inScope(policy, rule.scope, facts))
    .filter((rule) => conditionsHold(rule.when, facts.material) !== 'no')
    .sort((a, b) => PRECEDENCE[a.scope.kind] - PRECEDENCE[b.scope.kind]);
}

function inScope(policy: Policy, scope: RuleScope, facts: CallFacts): boolean {
  switch (scope.kind) {
    case 'tools':
      return scope.tools.includes(facts.tool);
    case 'destructive':
      return isDestructive(policy, facts);
    case 'all':
      return true;
    default:
      return unreachable(scope);
  }
}

type Asking = { readonly steps: readonly Step[]; readonly facts: CallFacts };

function askOf(deciding: Rule, matched: readonly Rule[], { steps, facts }: Asking): Ask {
  const { id, version, approvers, selfApproval, escalate, deadline } = deciding;
  const signIn = strictestSignIn(matched.map((rule) => rule.signIn));
  return {
    rule: { id, version },
    matched: matched.map((rule) => ({ id: rule.id, version: rule.version, scope: rule.scope.kind })),
    steps: [...steps, { kind: 'rule', approvers, selfApproval }],
    bind: bindingOf(matched, facts),
    validity: withinTotals(strictestValidity(matched.map((rule) => rule.validity)), facts),
    escalate,
    deadline,
    emergency: false,
    ...(signIn !== undefined && { signIn }),
  };
}

/** A call that alone crosses a window's total, or whose amount cannot be told, cannot be one of its uses: it is asked once. */
export function withinTotals(validity: Validity, { material }: Pick<CallFacts, 'material'>): Validity {
  return addToTotals(validity, {}, amountsOf(material)) === null ? { kind: 'once' } : validity;
}

/** Where the material fields are to be bound and the call's tool declares none, every argument is: never nothing. */
function bindingOf(matched: readonly Rule[], { material }: CallFacts): BindMode {
  const bind = strictestBind(matched.map((rule) => rule.bind));
  return bind === 'material' && !material.some((field) => field.from === 'arguments') ? 'arguments' : bind;
}

function confirmOnly(steps: readonly Step[]): Ask {
  return {
    rule: null,
    matched: [],
    steps,
    bind: 'arguments',
    validity: { kind: 'once' },
    escalate: [],
    deadline: DEFAULT_DEADLINE,
    emergency: false,
  };
}
