import type { Decision, Verdict, VerdictCode } from '../core/decision';
import { isBlank } from '../core/display';
import { emergencyAsks } from '../core/emergency';
import type { Policy, SignInNeed } from '../core/policy';
import type { ApprovalRequest } from '../core/request';
import { notShown } from '../core/review';
import { decisionOn } from '../client/decision-on';
import { signDecision } from '../client/sign-decision';
import type { Ledger } from '../ledger/ledger';
import { decisionsOn, revisionsOf } from '../ledger/queries';
import type { Decided, GivenDecision, Viewer } from './ports';
import { sightOf } from './sight';
import { notShownText } from './view-of';

export interface Deciding {
  readonly ledger: Pick<
    Ledger,
    'store' | 'activePolicy' | 'settle' | 'revokeGrant' | 'closeRetrospective' | 'giveSecondReview' | 'reportReversal'
  >;
  /** Sends a decision to the turn of its request, and answers its verdict. */
  readonly decide: (workflowId: string, decision: Decision) => Promise<Verdict>;
  /** The console's own private key in PEM; without one its decisions are unsigned. */
  readonly signingKey: string | null;
}

/**
 * Gives one decision of the person who is signed in, under no other name, signed by the console. Whoever they are, the
 * ledger judges it: an attempt of somebody who may not decide is on record too, and who may not even see the request is
 * answered as if there were none.
 */
export async function decide(deps: Deciding, viewer: Viewer, given: GivenDecision): Promise<Decided> {
  const { ledger, signingKey } = deps;
  const { operationId, revision, answer, reason = '', reviewer = viewer.name } = given;
  if (reviewer !== viewer.name)
    return refused('OTHER_REVIEWER', `you are signed in as ${viewer.name}, and decide under no other name`);
  if (answer === 'deny' && isBlank(reason))
    return refused('REASON_MISSING', 'a denial needs a reason: it reaches the agent');
  const revisions = await revisionsOf(ledger.store.db, operationId);
  const meant = revisions.find(({ request }) => request.revision === revision) ?? revisions.at(-1);
  if (meant === undefined) return { kind: 'notFound' };
  const policy = (await ledger.activePolicy())?.policy ?? null;
  const isStranger = sightOf(viewer, policy, meant) === 'nothing';
  const hidden = answer === 'allow' && !isStranger ? notShown(meant.request) : [];
  if (hidden.length > 0) return refused('NOT_SHOWN', notShownText(hidden));
  const decision = decisionBy(viewer, given);
  const sent = signingKey === null ? decision : signDecision(attested(viewer, decision), signingKey);
  const verdict = await deps.decide(meant.request.workflowId, sent);
  if (isStranger && !COUNTS.includes(verdict.code)) return { kind: 'notFound' };
  if (verdict.code === 'signInNeeded') return { kind: 'verdict', verdict, ...needOf(policy, meant.request, given) };
  return { kind: 'verdict', verdict: await withOwnReason(deps, decision, verdict) };
}

/** What is known of the sign-in goes with the decision, under the same signature. */
function attested({ signIn }: Viewer, decision: Decision): Decision {
  return signIn === undefined ? decision : { ...decision, signIn };
}

function needOf(
  policy: Policy | null,
  request: ApprovalRequest,
  { emergency }: GivenDecision,
): { readonly signIn?: SignInNeed } {
  const asks = emergency === undefined || policy === null ? [] : emergencyAsks(policy, request, request.ask);
  const { signIn } = asks.find(({ rule }) => rule?.id === emergency?.rule) ?? request.ask;
  return signIn === undefined ? {} : { signIn };
}

const COUNTS: readonly VerdictCode[] = ['accepted', 'alreadyDecided'];

/** Somebody's second denial is their first one: where it had another reason, that one stands, and they are told so. */
async function withOwnReason({ ledger }: Deciding, decision: Decision, verdict: Verdict): Promise<Verdict> {
  if (decision.answer !== 'deny' || verdict.code !== 'accepted') return verdict;
  const { operationId, revision, reviewer, reason = null } = decision;
  const own = (await decisionsOn(ledger.store.db, operationId)).find(
    (each) => each.revision === revision && each.reviewer === reviewer && each.answer === 'deny',
  );
  if (own === undefined || own.reason === reason) return verdict;
  const detail = 'you denied this before, and the reason that you gave then stands: this one was not sent to the agent';
  return { ...verdict, code: 'conflict', detail };
}

function decisionBy({ name }: Viewer, given: GivenDecision): Decision {
  const { operationId, revision, digest, decisionId, answer, reason = '', minutes, emergency } = given;
  const asked = { operationId, revision, bindingDigest: digest };
  return decisionOn(asked, {
    ...{ decisionId, answer, reviewer: name, channel: 'console' },
    ...(reason.trim() !== '' && { reason }),
    ...(minutes !== undefined && { minutes }),
    ...(emergency !== undefined && { emergency }),
  });
}

function refused(code: Extract<Decided, { kind: 'refused' }>['code'], detail: string): Decided {
  return { kind: 'refused', code, detail };
}
