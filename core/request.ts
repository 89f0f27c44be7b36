import type { JsonObject, JsonValue } from './json';
import type { Ask, MaterialField } from './evaluation';
import type { Requester } from './requester';
import type { CallContext } from './turn';

/**
 * An earlier operation of the same tool with the same material fields, and how it ended. Whose and which it was is null
 * in the copy of a requester to whom it does not belong.
 */
export interface SimilarOperation {
  readonly operationId: string | null;
  readonly atMs: number;
  readonly requester: string | null;
  readonly state: string;
  /** The tool itself answered with an error; left out where it did not. */
  readonly isError?: true;
  /** Its effect was reported as undone; left out where it was not. */
  readonly reversed?: true;
}

/** Why a revision was opened. `first`: the call was proposed; otherwise what the re-check found changed. */
export type OpeningCause =
  | 'first'
  | 'argumentsChanged'
  | 'resourceChanged'
  | 'definitionChanged'
  | 'ruleChanged'
  | 'serverChanged'
  | 'reviewerChanged'
  | 'grantUnusable';

/**
 * Everything a reviewer sees of one approval request, as it was asked: the same type in snapshot, API, console, webhook
 * and `_meta`. Secrets are keyed tokens. Stored as canonical bytes and never re-made.
 */
export interface ApprovalRequest {
  readonly v: 1;
  readonly operationId: string;
  readonly revision: number;
  /** 8 characters, unique among open requests, for chat and CLI. */
  readonly shortId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly workflowId: string;
  readonly requester: Requester;
  readonly server: string;
  readonly tool: string;
  readonly toolTitle: string | null;
  readonly material: readonly MaterialField[];
  readonly arguments: JsonObject;
  readonly argumentsDigest: string;
  readonly bindingDigest: string;
  readonly toolDigest: string;
  readonly serverIdentity: string;
  readonly resourceVersion: JsonValue;
  /** Resource version of the revision before, where it differs. */
  readonly previousResourceVersion: JsonValue;
  readonly policyVersion: number;
  readonly ask: Ask;
  readonly cause: OpeningCause;
  readonly openedAtMs: number;
  readonly deadlineAtMs: number;
  readonly classification: string | null;
  readonly reversible: string | null;
  readonly expected: string | null;
  readonly preview: { readonly show: 'diff' | 'text' | 'json'; readonly value: JsonValue } | null;
  readonly state: JsonValue;
  readonly similar: readonly SimilarOperation[];
  readonly note: string | null;
  /** What a gateway knows of the call beside its arguments; left out for a runtime's call. */
  readonly context?: CallContext;
}

/** The request as its requester's runtime gets it: reviewers alone see whose the similar operations of others were. */
export function requesterCopy(request: ApprovalRequest): ApprovalRequest {
  const { subject } = request.requester;
  const similar = request.similar.map((operation) =>
    operation.requester === subject ? operation : { ...operation, operationId: null, requester: null },
  );
  return { ...request, similar };
}

/** Where a request stands now, beside the request as it was asked. */
export interface RequestStanding {
  readonly state: 'pending' | 'allowed' | 'denied' | 'expired' | 'withdrawn' | 'superseded' | 'refused';
  /** Escalation levels already reached: 0 = none. */
  readonly level: number;
  /** When the row next has something to do by its clock; null when closed. */
  readonly dueAtMs: number | null;
  readonly closedAtMs: number | null;
  readonly closedReason: string | null;
}
