import type { Decision, Verdict, VerdictCode } from '../core/decision';
import { notShown } from '../core/review';
import { decisionOn } from '../client/decision-on';
import { signDecision } from '../client/sign-decision';
import type { Ledger } from '../ledger/ledger';
import { revisionsOf } from '../ledger/queries';
import type { Decided, GivenDecision, Viewer } from './ports';
import { sightOf } from './sight';
import { notShownText } from './view-of';

export interface Deciding {
  readonly ledger: Pick<Ledger, 'store' | 'activePolicy' | 'settle' | 'revokeGrant'>;
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
  if (answer === 'deny' && reason.trim() === '')
    return refused('REASON_MISSING', 'a denial needs a reason: it reaches the agent');
  const revisions = await revisionsOf(ledger.store.db, operationId);
  const meant = revisions.find(({ request }) => request.revision === revision) ?? revisions.at(-1);
  if (meant === undefined) return { kind: 'notFound' };
  const policy = (await ledger.activePolicy())?.policy ?? null;
  const isStranger = sightOf(viewer, policy, meant) === 'nothing';
  const hidden = answer === 'allow' && !isStranger ? notShown(meant.request) : [];
  if (hidden.length > 0) return refused('NOT_SHOWN', notShownText(hidden));
  const decision = decisionBy(viewer, given);
  const sent = signingKey === null ? decision : signDecision(decision, signingKey);
  const verdict = await deps.decide(meant.request.workflowId, sent);
  return isStranger && !COUNTS.includes(verdict.code) ? { kind: 'notFound' } : { kind: 'verdict', verdict };
}

const COUNTS: readonly VerdictCode[] = ['accepted', 'alreadyDecided'];

function decisionBy({ name }: Viewer, given: GivenDecision): Decision {
  const { operationId, revision, digest, decisionId, answer, reason = '', minutes } = given;
  const asked = { operationId, revision, bindingDigest: digest };
  return decisionOn(asked, {
    ...{ decisionId, answer, reviewer: name, channel: 'console' },
    ...(reason.trim() !== '' && { reason }),
    ...(minutes !== undefined && { minutes }),
  });
}

function refused(code: Extract<Decided, { kind: 'refused' }>['code'], detail: string): Decided {
  return { kind: 'refused', code, detail };
}
