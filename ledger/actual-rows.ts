import type { JsonValue } from '../core/json';
import { fixedOfGrant, fixedOfOperation, fixedOfRequest } from './row-digest';
import { textDigest } from './text-digest';
import type {
  DecisionRow,
  GrantRow,
  OperationRow,
  RequestRow,
  RetrospectiveRow,
  ReversalRow,
  SecondReviewRow,
} from './rows';

/** Columns of a row by name; what is long as its digest, and `row` for those that never change. */
export type Columns = Readonly<Record<string, JsonValue | undefined>>;

/** A row that is not what its facts say. */
export interface RowProblem {
  /** Its table and key. */
  readonly row: string;
  readonly detail: string;
}

export const GRANTS = 'grants ';

export function requestKey(operationId: string, revision: number): string {
  return `requests ${operationId} revision ${revision}`;
}

export function decisionKey(decisionId: string): string {
  return `decisions ${decisionId}`;
}

export function grantKey(grantId: string): string {
  return `${GRANTS}${grantId}`;
}

export function retrospectiveKey(grantId: string): string {
  return `retrospectives ${grantId}`;
}

export function reversalKey(operationId: string): string {
  return `reversals ${operationId}`;
}

export function secondReviewKey(operationId: string, revision: number): string {
  return `second_reviews ${operationId} revision ${revision}`;
}

export function operationKey(operationId: string): string {
  return `operations ${operationId}`;
}

/** The rows of one operation. */
export interface OperationRows {
  readonly requests: readonly RequestRow[];
  readonly decisions: readonly DecisionRow[];
  readonly grants: readonly GrantRow[];
  readonly operations: readonly OperationRow[];
  readonly retrospectives: readonly RetrospectiveRow[];
  readonly reversals: readonly ReversalRow[];
  readonly second_reviews: readonly SecondReviewRow[];
}

/** The rows as they can be compared with what the audit says, by `table key`. */
export function actualRows(rows: OperationRows): ReadonlyMap<string, Columns> {
  const { requests, decisions, grants, operations, retrospectives } = rows;
  return new Map<string, Columns>([
    ...requests.map((row) => [requestKey(row.operation_id, row.revision), requestColumns(row)] as const),
    ...decisions.map((row) => [decisionKey(row.decision_id), decisionColumns(row)] as const),
    ...grants.map((row) => [grantKey(row.grant_id), grantColumns(row)] as const),
    ...operations.map((row) => [operationKey(row.operation_id), operationColumns(row)] as const),
    ...retrospectives.map((row) => [retrospectiveKey(row.grant_id), { ...row }] as const),
    ...rows.reversals.map((row) => [reversalKey(row.operation_id), { ...row }] as const),
    ...rows.second_reviews.map((row) => [secondReviewKey(row.operation_id, row.revision), { ...row }] as const),
  ]);
}

function requestColumns(row: RequestRow): Columns {
  return { ...row, card: textDigest(row.card), row: fixedOfRequest(row) };
}

function decisionColumns(row: DecisionRow): Columns {
  return { ...row, message: textDigest(row.message) };
}

function grantColumns(row: GrantRow): Columns {
  return { ...row, once: row.once_for !== null, terms: textDigest(row.terms), row: fixedOfGrant(row) };
}

function operationColumns(row: OperationRow): Columns {
  return { ...row, result: row.result === null ? null : textDigest(row.result), row: fixedOfOperation(row) };
}
