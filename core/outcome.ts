import type { JsonValue } from './json';
import type { Refusal } from './errors';
import type { RuleRef } from './evaluation';

/**
 * How a tool's result travels: whole, or by digest where it is too large for that; then it is in the ledger. Digest and
 * bytes are of its JSON text.
 */
export type ToolResult = { readonly digest: string; readonly bytes: number; readonly isError: boolean } & (
  { readonly kind: 'inline'; readonly value: JsonValue } | { readonly kind: 'stored' }
);

/** What proves an outcome. */
export type Evidence = 'answer' | 'lookUp' | 'settlement' | 'notSent';

/** What an approval was, for those who later ask: empty deciders and null rule where no rule asked. */
export interface ApprovalFacts {
  /** The operation whose request was allowed: another, earlier one where a window covers the call. */
  readonly operationId: string;
  readonly revision: number;
  readonly deciders: readonly string[];
  readonly askedRule: RuleRef | null;
  readonly permittedRule: RuleRef | null;
  readonly grantId: string | null;
  readonly emergency: boolean;
  /** False where a decision was accepted unsigned under `trust: namespace`. */
  readonly verified: boolean;
}

/** People who allowed, and how many had to. */
export interface AllowCount {
  readonly allows: number;
  readonly needed: number;
}

/** The end of a call. Six words that never share a meaning; `pending` is not among them. */
export type CallOutcome =
  | {
      readonly outcome: 'executed';
      readonly result: ToolResult | null;
      readonly evidence: Evidence;
      readonly approval: ApprovalFacts | null;
    }
  | {
      readonly outcome: 'failed';
      readonly detail: string;
      readonly evidence: Evidence;
      readonly approval: ApprovalFacts | null;
    }
  | { readonly outcome: 'unknown'; readonly detail: string; readonly approval: ApprovalFacts | null }
  | { readonly outcome: 'denied'; readonly reason: string | null; readonly deciders: readonly string[] }
  /** `counted`: allows and how many the steps need, where some came but too few. */
  | { readonly outcome: 'expired'; readonly detail: string; readonly counted?: AllowCount }
  | { readonly outcome: 'withdrawn'; readonly detail: string }
  | ({ readonly outcome: 'refused' } & Refusal);

/** The same end, but a result longer than `maxBytes` is only named. */
export function withResultUpTo(end: CallOutcome, maxBytes: number): CallOutcome {
  if (end.outcome !== 'executed' || end.result?.kind !== 'inline' || end.result.bytes <= maxBytes) return end;
  const { digest, bytes, isError } = end.result;
  return { ...end, result: { kind: 'stored', digest, bytes, isError } };
}
