import type { RuleRef } from './evaluation';
import type { JsonValue } from './json';
import type { Requester } from './requester';

/** Where the permit travels: a key of the call's `_meta`. */
export const PERMIT_META_KEY = 'dev.holdpoint/permit';

/** The `typ` of a permit's JWS header, so that no other token of the same key passes for one. */
export const PERMIT_TYPE = 'holdpoint-permit+jwt';

/**
 * What travels with an effect: who asked, who allowed, which operation. Proof that this was recorded, not an
 * authorisation: the downstream system still decides for the requester. Times are epoch ms, of whole seconds.
 */
export interface Permit {
  readonly v: 1;
  readonly id: string;
  readonly requester: Requester;
  readonly server: string;
  readonly tool: string;
  readonly operationId: string;
  /** What the reviewers' decision covers. */
  readonly bindingDigest: string;
  /** `sha256:` of the canonical JSON (RFC 8785) of the arguments as the tool gets them. */
  readonly argumentsDigest: string;
  readonly resourceVersion: JsonValue;
  /** The approval request that was allowed; null where no rule asked. */
  readonly request: { readonly operationId: string; readonly revision: number } | null;
  readonly deciders: readonly string[];
  readonly askedRule: RuleRef | null;
  readonly permittedRule: RuleRef | null;
  readonly emergency: boolean;
  /** False where a decision was accepted unsigned. */
  readonly verified: boolean;
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
}
