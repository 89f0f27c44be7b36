import { parseDecision } from '../core/decision-schema';
import type { CallState } from '../core/call-state';
import type { Verdict } from '../core/decision';
import type { Policy } from '../core/policy';
import { advanceRequest } from './commands/advance-request';
import {
  claimCall,
  noteDelivered,
  readClaimedCall,
  type CallIdentity,
  type ClaimedCall,
} from './commands/gateway-calls';
import { dispatch, OperationTaken, type Dispatch, type Dispatched } from './commands/dispatch';
import { revokeGrant, type Revocation, type Revoked } from './commands/grants';
import { openCall, type CallRef, type Opened, type Opening } from './commands/open-call';
import {
  endAttempt,
  recordAbsence,
  recordOutcome,
  settle,
  type Ending,
  type Settled,
  type Settlement,
} from './commands/outcomes';
import { applyPolicy, createPolicyReader, type ActivePolicy, type NewPolicy } from './commands/policies';
import { noteRefusal, type RefusedCall } from './commands/note-refusal';
import { readCall } from './commands/read-call';
import { recordDecision, type DecisionAnswer } from './commands/record-decision';
import { closeRetrospective, type RetrospectiveReview, type RetrospectiveReviewed } from './commands/retrospectives';
import { giveSecondReview, type SecondReviewed, type SecondReviewGiven } from './commands/give-second-review';
import { reportReversal, type Reported, type Reversal } from './commands/report-reversal';
import { withdraw } from './commands/withdraw';
import type { OperationRow } from './rows';
import { checkSignature } from './signature';
import type { Store, Tx } from './transaction';

export type Trust = 'signatures' | 'namespace';

export interface Active extends ActivePolicy {
  readonly trust: Trust;
}

/**
 * What Holdpoint's processes ask of the ledger; each method is one transaction, safe to run again. Every method rejects
 * with a LedgerError where the store cannot be reached or written, and then nothing was recorded unless it says so.
 */
export interface Ledger {
  readonly store: Store;
  activePolicy(): Promise<Active | null>;
  applyPolicy(policy: NewPolicy): Promise<{ version: number; changed: boolean }>;
  openCalls(openings: readonly Opening[]): Promise<readonly Opened[]>;
  readCall(call: CallRef): Promise<CallState | null>;
  recordDecision(message: unknown, workflowId: string): Promise<DecisionAnswer>;
  advanceRequest(operationId: string): Promise<CallState | null>;
  withdraw(operationId: string, reason: string): Promise<CallState>;
  dispatch(request: Omit<Dispatch, 'signatureOf'>): Promise<Dispatched>;
  endAttempt(operationId: string, attempt: number): Promise<void>;
  recordAbsence(operationId: string, attempt: number): Promise<boolean>;
  recordOutcome(operationId: string, ending: Ending): Promise<CallState | null>;
  operation(operationId: string): Promise<OperationRow | null>;
  settle(settlement: Settlement): Promise<Settled>;
  /** For a gateway: which operation an identical call means now. */
  claimCall(call: CallIdentity): Promise<ClaimedCall>;
  readClaimedCall(claim: { readonly callKey: string } & ClaimedCall): Promise<ClaimedCall>;
  noteRefusal(call: RefusedCall): Promise<void>;
  noteDelivered(call: { readonly callKey: string; readonly operationId: string }): Promise<void>;
  revokeGrant(revocation: Revocation): Promise<Revoked>;
  /** Closes the review of an emergency. */
  closeRetrospective(review: RetrospectiveReview): Promise<RetrospectiveReviewed>;
  reportReversal(reversal: Reversal): Promise<Reported>;
  /** For the blind second review of a sample of decisions. */
  giveSecondReview(given: SecondReviewGiven): Promise<SecondReviewed>;
}

/** @param defaultTrust which decisions count where the policy does not say; `namespace` only under `holdpoint dev`. */
export function createLedger(store: Store, { defaultTrust }: { defaultTrust: Trust }): Ledger {
  const readPolicy = createPolicyReader();
  const active = async (db: Parameters<typeof readPolicy>[0]): Promise<Active | null> => {
    const found = await readPolicy(db);
    return found === null ? null : { ...found, trust: found.policy.trust ?? defaultTrust };
  };
  const byPolicy = <T>(run: (tx: Tx, by: Pick<Active, 'policy' | 'trust'>) => Promise<T>) =>
    store.write(async (tx) => {
      const { policy, trust } = (await active(tx.db)) ?? NO_PEOPLE;
      return run(tx, { policy, trust });
    });
  return {
    store,
    activePolicy: () => active(store.db),
    applyPolicy: (policy) => store.write((tx) => applyPolicy(tx, policy)),
    openCalls: (openings) =>
      store.write(async (tx) => {
        const opened: Opened[] = [];
        for (const opening of openings) opened.push(await openCall(tx, opening));
        return opened;
      }),
    readCall: (call) => store.write((tx) => readCall(tx, call)),
    recordDecision: (message, workflowId) => judge(store, active, { message, workflowId }),
    advanceRequest: (operationId) => byPolicy((tx, by) => advanceRequest(tx, { operationId, ...by })),
    withdraw: (operationId, reason) => store.write((tx) => withdraw(tx, { operationId, reason })),
    dispatch: (request) => dispatchOnce(store, request),
    endAttempt: (operationId, attempt) => store.write((tx) => endAttempt(tx, { operationId, attempt })),
    recordAbsence: (operationId, attempt) => store.write((tx) => recordAbsence(tx, { operationId, attempt })),
    recordOutcome: (operationId, ending) => store.write((tx) => recordOutcome(tx, { operationId, ending })),
    operation: async (operationId) =>
      (await store.db
        .selectFrom('operations')
        .selectAll()
        .where('operation_id', '=', operationId)
        .executeTakeFirst()) ?? null,
    settle: (settlement) => store.write((tx) => settle(tx, settlement)),
    claimCall: (call) => store.write((tx) => claimCall(tx, call)),
    readClaimedCall: (claim) => store.write((tx) => readClaimedCall(tx, claim)),
    noteRefusal: (call) => store.write((tx) => noteRefusal(tx, call)),
    noteDelivered: (call) => store.write((tx) => noteDelivered(tx, call)),
    revokeGrant: (revocation) => store.write((tx) => revokeGrant(tx, revocation)),
    closeRetrospective: (review) => byPolicy((tx, { policy }) => closeRetrospective(tx, { review, policy })),
    reportReversal: (reversal) => store.write((tx) => reportReversal(tx, reversal)),
    giveSecondReview: (given) => byPolicy((tx, { policy }) => giveSecondReview(tx, { given, policy })),
  };
}

/** Without a policy nobody may decide: requests that are open then close as NO_REVIEWERS or expire. */
const NO_PEOPLE: { readonly policy: Policy; readonly trust: Trust } = {
  policy: { v: 1, trust: null, people: {}, servers: {}, access: [], rules: [] },
  trust: 'signatures',
};

async function judge(
  store: Store,
  active: (db: Store['db']) => Promise<Active | null>,
  { message, workflowId }: { message: unknown; workflowId: string },
): Promise<DecisionAnswer> {
  const parsed = parseDecision(message);
  return store.write(async (tx) => {
    if (!parsed.ok) {
      tx.fact({ kind: 'decision.malformed', operationId: null, body: { workflowId, detail: parsed.detail } });
      return { verdict: malformed(parsed.detail), state: null };
    }
    const { policy, trust } = (await active(tx.db)) ?? NO_PEOPLE;
    const { decision } = parsed;
    const signature = checkSignature(decision, policy);
    return recordDecision(tx, { decision, workflowId, signature, policy, trust });
  });
}

function malformed(detail: string): Verdict {
  return { code: 'malformed', detail, operationId: null, revision: null, state: null, decidedBy: [], counted: null };
}

async function dispatchOnce(store: Store, request: Omit<Dispatch, 'signatureOf'>): Promise<Dispatched> {
  const { policy } = request.active;
  const whole = {
    ...request,
    signatureOf: (decision: Parameters<typeof checkSignature>[0]) => checkSignature(decision, policy),
  };
  try {
    return await store.write((tx) => dispatch(tx, whole));
  } catch (error) {
    // Another caller's row won; this time the command finds it and answers its state.
    if (error instanceof OperationTaken) return store.write((tx) => dispatch(tx, whole));
    throw error;
  }
}
