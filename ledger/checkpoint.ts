import { hash, sign, verify, type KeyObject } from 'node:crypto';
import { AUDIT_CHAIN, type AuditHead } from './audit-record';

/** A signed statement that the audit chain had this record at this place: kept elsewhere, it finds what was cut off. */
export interface Checkpoint extends AuditHead {
  readonly at: number;
  readonly keyId: string;
  /** Ed25519, base64url. */
  readonly signature: string;
}

export type CheckpointCheck = 'valid' | 'forged' | 'keyUnknown';

/** Signs a head of the chain with an Ed25519 private key. */
export function signCheckpoint(head: AuditHead & { readonly at: number }, key: KeyObject): Checkpoint {
  const signature = sign(null, signedBytes(head), key).toString('base64url');
  return { ...head, keyId: keyIdOf(key), signature };
}

export function checkCheckpoint(checkpoint: Checkpoint, publicKeys: readonly KeyObject[]): CheckpointCheck {
  const key = publicKeys.find((candidate) => keyIdOf(candidate) === checkpoint.keyId);
  if (key === undefined) return 'keyUnknown';
  const signature = Buffer.from(checkpoint.signature, 'base64url');
  return verify(null, signedBytes(checkpoint), key, signature) ? 'valid' : 'forged';
}

/** The RFC 7638 thumbprint of an Ed25519 key, the same for its private and its public half. */
export function keyIdOf(key: KeyObject): string {
  const { crv, kty, x } = key.export({ format: 'jwk' });
  if (kty !== 'OKP' || crv !== 'Ed25519') throw new TypeError('A checkpoint is signed with an Ed25519 key');
  return hash('sha256', JSON.stringify({ crv, kty, x }), 'base64url');
}

function signedBytes({ seq, hash: headHash, at }: AuditHead & { readonly at: number }): Buffer {
  return Buffer.from(JSON.stringify(['holdpoint/checkpoint/1', AUDIT_CHAIN, seq, headHash, at]), 'utf8');
}
