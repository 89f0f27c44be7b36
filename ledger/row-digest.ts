import type { GrantRow, OperationRow, RequestRow } from './rows';
import { textDigest } from './text-digest';

/**
 * Columns that no command changes once the row is written, and that its first fact does not hold in plain: it holds one
 * digest of them, so that `audit verify` sees a change.
 */
const REQUEST = [
  'operation_id',
  'revision',
  'short_id',
  'requester_key',
  'subject',
  'agent',
  'server',
  'tool',
  'arguments_digest',
  'workflow_id',
  'call_id',
  'rule_id',
] as const satisfies readonly (keyof RequestRow)[];

const GRANT = [
  'grant_id',
  'operation_id',
  'revision',
  'once_for',
  'requester_key',
  'subject',
  'agent',
  'server',
  'tool',
  'binding_digest',
] as const satisfies readonly (keyof GrantRow)[];

const OPERATION = [
  'operation_id',
  'revision',
  'requester_key',
  'subject',
  'agent',
  'server',
  'tool',
  'workflow_id',
  'call_id',
  'similar_digest',
  'grant_id',
  'look_up',
] as const satisfies readonly (keyof OperationRow)[];

export function fixedOfRequest(row: Pick<RequestRow, (typeof REQUEST)[number]>): string {
  return digest('request', REQUEST, row);
}

export function fixedOfGrant(row: Pick<GrantRow, (typeof GRANT)[number]>): string {
  return digest('grant', GRANT, row);
}

export function fixedOfOperation(row: Pick<OperationRow, (typeof OPERATION)[number]>): string {
  return digest('operation', OPERATION, row);
}

function digest<C extends string>(
  table: string,
  columns: readonly C[],
  row: Readonly<Record<C, string | number | null>>,
): string {
  return textDigest(JSON.stringify(['holdpoint/row/1', table, ...columns.map((column) => row[column])]));
}
