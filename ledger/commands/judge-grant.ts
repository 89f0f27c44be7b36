import { askLike } from '../../core/emergency';
import { sameRules, termsStillCover } from '../../core/grant';
import { isProof, openSteps } from '../../core/judge-decision';
import { signInRefusal } from '../../core/sign-in';
import type { Ask, RuleRef } from '../../core/evaluation';
import type { ApprovalFacts } from '../../core/outcome';
import type { OpeningCause } from '../../core/request';
import {
  cardOf,
  countedOf,
  lifeOf,
  messageOf,
  termsOf,
  type DecisionRow,
  type GrantRow,
  type RequestRow,
} from '../rows';
import type { Tx } from '../transaction';
import type { Dispatch } from './dispatch';
import { decisionsOf } from './locate';

export interface Found {
  readonly grant: GrantRow;
  readonly approval: ApprovalFacts;
}

export type Search = Found | { readonly cause: OpeningCause };

/** The request and the decisions from which a grant came. */
export async function origin(tx: Tx, grant: GrantRow) {
  const row = await tx.db
    .selectFrom('requests')
    .selectAll()
    .where('operation_id', '=', grant.operation_id)
    .where('revision', '=', grant.revision)
    .executeTakeFirstOrThrow();
  return { grant, row, decisions: await decisionsOfGrant(tx, grant) };
}

export async function decisionsOfGrant(tx: Tx, grant: GrantRow): Promise<readonly DecisionRow[]> {
  const decisions = await decisionsOf(tx, grant.operation_id);
  return decisions.filter((entry) => entry.revision === grant.revision);
}

/** Whether a grant permits the call as it is now: same or still covering rules, and decisions that still stand. */
export function judgeGrant(
  request: Dispatch,
  {
    grant,
    row,
    decisions,
    ask: now,
  }: { grant: GrantRow; row: RequestRow; decisions: readonly DecisionRow[]; ask: Ask },
): Search {
  const terms = termsOf(grant);
  const ask = askLike(terms.ask, now, request.emergencies);
  if (ask === null) return { cause: 'ruleChanged' };
  const same = sameRules(terms.ask, ask);
  if (!same && !termsStillCover(terms.ask, ask)) return { cause: 'ruleChanged' };
  const standing = decisions.filter((decision) => standsFor(request, decision, ask)).map(countedOf);
  const { requester } = cardOf(row);
  const judgement = { life: lifeOf(row), requester, policy: request.active.policy };
  if (openSteps({ ...judgement, ask: terms.ask }, standing).length > 0) return { cause: 'reviewerChanged' };
  // Also under the same rules: the steps of the terms are a row's, those of `ask` come from the active policy.
  if (openSteps({ ...judgement, ask }, standing).length > 0) return { cause: same ? 'reviewerChanged' : 'ruleChanged' };
  return { grant, approval: approvalFacts(grant, ask.rule) };
}

function standsFor({ active, signatureOf, bindingDigest }: Dispatch, decision: DecisionRow, ask: Ask): boolean {
  const message = messageOf(decision);
  // A signature says nothing of a row that it was copied to.
  const isOwn =
    message.operationId === decision.operation_id &&
    message.revision === decision.revision &&
    message.reviewer === decision.reviewer &&
    message.answer === decision.answer &&
    message.digest === bindingDigest;
  if (!isOwn) return false;
  const isSigned = decision.verified === 1;
  const signature = isSigned ? signatureOf(message) : 'absent';
  if (isSigned ? !isProof(signature) : active.trust !== 'namespace') return false;
  // What was attested then is read out of the signed message again: a row can say anything of itself.
  return signInRefusal(ask.signIn, { signature, signIn: message.signIn, nowMs: decision.decided_at }) === null;
}

function approvalFacts(grant: GrantRow, permittedRule: RuleRef | null): ApprovalFacts {
  const terms = termsOf(grant);
  return {
    operationId: grant.operation_id,
    revision: grant.revision,
    deciders: terms.deciders,
    askedRule: terms.ask.rule,
    permittedRule,
    grantId: grant.grant_id,
    emergency: terms.ask.emergency,
    verified: terms.verified,
  };
}
