/** Where a decision came in. Recorded, never trusted. */
export type DecisionChannel = 'update' | 'signal' | 'cli' | 'console' | 'gateway';

/**
 * What the console attests of a reviewer's sign-in: when they proved who they are, in epoch milliseconds, and by which
 * authentication context class, where the provider says so (`auth_time` and `acr` of the ID token).
 */
export interface SignInFact {
  readonly atMs: number;
  readonly acr?: string;
}

/**
 * A reviewer's answer to one approval request: `decide`'s message. It names the operation, its revision and the binding
 * digest that the reviewer saw, and carries nothing that could reach the tool.
 * `signature`: base64url Ed25519 over the canonical JSON of all other fields, by one of the reviewer's keys.
 */
export interface Decision {
  readonly v: 1;
  readonly decisionId: string;
  readonly operationId: string;
  readonly revision: number;
  readonly digest: string;
  readonly answer: 'allow' | 'deny';
  readonly reviewer: string;
  readonly reason?: string;
  /** A shorter hold than the rule gives, in minutes; a longer one is refused. */
  readonly minutes?: number;
  /** Allows under an emergency rule, which skips the approvers whom the request asks. Needs a `reason`. */
  readonly emergency?: { readonly rule: string; readonly ticket: string };
  /** Counts only under the console's signature; in the word of anybody else it proves nothing. */
  readonly signIn?: SignInFact;
  readonly channel: DecisionChannel;
  readonly signature?: string;
}

/**
 * The typed answer to a decision. `accepted`: it counts; `alreadyDecided`: another gave the same answer first;
 * `conflict`: another answer stands; `late`: the deadline had passed; `stale`: another revision or digest is open;
 * `emergencyRefused`: no emergency rule fits, its ticket or reason is missing, or an earlier one's review is overdue;
 * `signInNeeded`: its rules ask for a newer or stronger sign-in than the decision proves;
 * `notRecorded`: the ledger did not take it in time, and `detail` names it; send the same decision again.
 */
export type VerdictCode =
  | 'accepted'
  | 'alreadyDecided'
  | 'conflict'
  | 'late'
  | 'stale'
  | 'notAReviewer'
  | 'selfApproval'
  | 'badSignature'
  | 'cannotWiden'
  | 'emergencyRefused'
  | 'signInNeeded'
  | 'unknownRequest'
  | 'malformed'
  | 'tooLarge'
  | 'limit'
  | 'notRecorded';

export interface Verdict {
  readonly code: VerdictCode;
  /** For a person: what happened and what to do. */
  readonly detail: string;
  readonly operationId: string | null;
  readonly revision: number | null;
  /** The request's state; of a call that was sent and decided by others, the operation's. Null where none is known. */
  readonly state: string | null;
  /** Who closed the request, where it is closed by a decision. */
  readonly decidedBy: readonly string[];
  /** Allows counted so far and needed in the current step; null when closed. */
  readonly counted: { readonly allows: number; readonly needed: number } | null;
}
