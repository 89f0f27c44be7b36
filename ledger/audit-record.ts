import { hash } from 'node:crypto';

/** The ledger has one chain, so that its `seq` is the order of commits. */
export const AUDIT_CHAIN = 'main';

/** The hash before the first record. */
export const ZERO_HASH = '0'.repeat(64);

/** A fact before it has its place; `body` is canonical JSON. */
export interface NewFact {
  readonly kind: string;
  readonly operationId: string | null;
  readonly body: string;
}

export interface AuditRecord extends NewFact {
  readonly seq: number;
  readonly at: number;
  readonly prevHash: string;
  readonly hash: string;
}

/** Where the chain ends. */
export interface AuditHead {
  readonly seq: number;
  readonly hash: string;
}

/** Digest of what a record says. Its place is not part of it, so both stores can compute it before they have one. */
export function contentDigest(at: number, { kind, operationId, body }: NewFact): string {
  return sha256(JSON.stringify(['holdpoint/audit/1', at, kind, operationId, body]));
}

/** The hash of a record: its content at its place after its predecessor. PostgreSQL computes the same in a function. */
export function chainHash({ prevHash, seq, digest }: { prevHash: string; seq: number; digest: string }): string {
  return sha256(`${AUDIT_CHAIN}\n${seq}\n${prevHash}\n${digest}`);
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}
