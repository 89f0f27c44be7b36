import type { KeyObject } from 'node:crypto';
import type { RowProblem } from './actual-rows';
import { AuditCheck, type AuditProblem } from './audit-check';
import { missingGuards } from './audit-guards';
import { comparePolicies } from './audit-policies';
import { readChain, readCheckpoints } from './audit-read';
import type { AuditHead } from './audit-record';
import { compareRows } from './audit-rows';
import { checkCheckpoint, type Checkpoint } from './checkpoint';
import type { Store } from './transaction';

export interface VerifyOptions {
  /** Keys whose checkpoints count. */
  readonly publicKeys: readonly KeyObject[];
  /** Checkpoints that were kept elsewhere. Only they find a cut end with a repaired head, or a chain hashed anew. */
  readonly checkpoints?: readonly Checkpoint[];
  /** Told now and then how many records were read. */
  readonly onProgress?: (records: number) => void;
}

export interface AuditReport {
  readonly ok: boolean;
  readonly records: number;
  readonly last: AuditHead;
  /** In order of place, 100 at most. */
  readonly problems: readonly AuditProblem[];
  /** How many signatures were right, and how many stored checkpoints have a key that was not given. */
  readonly checkpoints: { readonly signed: number; readonly keyUnknown: number };
  /** How the ledger's rows compare with the audit; null for an export, which has none. */
  readonly rows: RowReport | null;
}

/** Requests, decisions, grants, operations and policies, and the triggers that protect what is append-only. */
export interface RowReport {
  readonly compared: number;
  /** 100 at most. */
  readonly problems: readonly RowProblem[];
}

const MAX_PROBLEMS = 100;

/**
 * Reads the whole audit chain of a ledger and says what is wrong with it, and where; then compares the rows that commands
 * act on with what the chain says of them. Others may write meanwhile.
 */
export async function verifyAudit(store: Store, options: VerifyOptions): Promise<AuditReport> {
  const stored = await readCheckpoints(store.db);
  const judged = judgeCheckpoints(stored, options);
  const check = new AuditCheck(judged.signed);
  let head: AuditHead | null = null;
  for await (const part of readChain(store.db)) {
    if (part.part === 'head') head = part.head;
    else for (const record of part.records) check.accept(record);
    options.onProgress?.(check.records);
  }
  const report = auditReport(check, { head, judged });
  const rows = await verifyRows(store);
  return { ...report, ok: report.ok && rows.problems.length === 0, rows };
}

async function verifyRows(store: Store): Promise<RowReport> {
  const policies = await comparePolicies(store.db);
  const problems = [...(await missingGuards(store)), ...policies.problems];
  let compared = policies.rows;
  for await (const part of compareRows(store.db)) {
    compared += part.rows;
    problems.push(...part.problems.slice(0, MAX_PROBLEMS));
    problems.length = Math.min(problems.length, MAX_PROBLEMS);
  }
  return { compared, problems };
}

export interface JudgedCheckpoints {
  readonly signed: readonly Checkpoint[];
  readonly keyUnknown: number;
  readonly problems: readonly AuditProblem[];
}

/** Checkpoints that count. Stored ones may be signed with a key that is not asked for; given ones have to be checkable. */
export function judgeCheckpoints(
  stored: readonly Checkpoint[],
  { checkpoints = [], publicKeys }: VerifyOptions,
): JudgedCheckpoints {
  const signed: Checkpoint[] = [];
  const problems: AuditProblem[] = [];
  let keyUnknown = 0;
  for (const checkpoint of [...stored, ...checkpoints]) {
    const { seq, keyId } = checkpoint;
    const check = checkCheckpoint(checkpoint, publicKeys);
    if (check === 'valid') signed.push(checkpoint);
    else if (check === 'forged') {
      problems.push({
        seq,
        what: 'checkpoint',
        detail: `the checkpoint of record ${seq} is not signed by key ${keyId}`,
      });
    } else if (stored.includes(checkpoint)) keyUnknown += 1;
    else
      problems.push({ seq, what: 'checkpoint', detail: `no public key ${keyId} for the checkpoint of record ${seq}` });
  }
  return { signed, keyUnknown, problems };
}

/** What a check found, with what the signatures of its checkpoints said. */
export function auditReport(
  check: AuditCheck,
  { head, judged }: { readonly head: AuditHead | null; readonly judged: JudgedCheckpoints },
): AuditReport {
  for (const problem of judged.problems) check.report(problem);
  const problems = check.finish(head);
  return {
    ok: problems.length === 0,
    records: check.records,
    last: check.last,
    problems,
    checkpoints: { signed: judged.signed.length, keyUnknown: judged.keyUnknown },
    rows: null,
  };
}
