import type { JsonValue } from './json';
import type {
  Approvers,
  BindMode,
  DeadlineSpec,
  EscalationLevel,
  MaterialKind,
  RuleScope,
  SignInNeed,
  Validity,
} from './policy';
import type { Requester } from './requester';

/** A material field as read from one call. `found: false` is a missing value: a rule's condition on it matches (asks). */
export interface MaterialField {
  readonly name: string;
  readonly as: MaterialKind;
  readonly from: 'arguments' | 'state';
  readonly at: string;
  readonly found: boolean;
  /** The value; a keyed token where the field is a secret; null where not found. */
  readonly value: JsonValue;
}

/** The MCP hints of a tool as listed by its server; null where the server says nothing. */
export interface ToolHints {
  readonly readOnly: boolean | null;
  readonly destructive: boolean | null;
}

/** What policy evaluation needs to know of a call. */
export interface CallFacts {
  readonly requester: Requester;
  readonly server: string;
  readonly tool: string;
  readonly hints: ToolHints;
  readonly material: readonly MaterialField[];
}

export interface RuleRef {
  readonly id: string;
  readonly version: string;
}

export interface MatchedRule extends RuleRef {
  readonly scope: RuleScope['kind'];
}

/** One step of an approval request: the requester's own human (`confirm`), or a rule's approvers. */
export type Step =
  | { readonly kind: 'confirm'; readonly subject: string }
  | { readonly kind: 'rule'; readonly approvers: Approvers; readonly selfApproval: boolean };

/** Who is asked, under which rule, and what an allow would permit. Times are durations from the opening. */
export interface Ask {
  /** The deciding rule; null where only the runtime's `confirm` asks. */
  readonly rule: RuleRef | null;
  readonly matched: readonly MatchedRule[];
  readonly steps: readonly Step[];
  readonly bind: BindMode;
  readonly validity: Validity;
  readonly escalate: readonly EscalationLevel[];
  readonly deadline: DeadlineSpec;
  readonly emergency: boolean;
  /** What every allow has to prove of its reviewer's sign-in; left out where nothing. */
  readonly signIn?: SignInNeed;
}
