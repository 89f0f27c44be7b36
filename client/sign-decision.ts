import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import type { Decision } from '../core/decision';
import { signedText } from '../core/decision-schema';

/** A new reviewer's key: `privateKey` in PEM for the reviewer alone, `publicKey` for `people` in the policy. */
export function generateReviewerKey(): { readonly privateKey: string; readonly publicKey: string } {
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { privateKey: pem, publicKey: publicKeyOf(privateKey) };
}

/** The policy's form of the public half of a private key in PEM: `ed25519:<base64url>`. */
export function publicKeyOf(privateKey: string | KeyObject): string {
  const key = typeof privateKey === 'string' ? createPrivateKey(privateKey) : privateKey;
  return `ed25519:${createPublicKey(key).export({ format: 'jwk' }).x ?? ''}`;
}

/** The decision with the signature of the reviewer's private key (PEM, Ed25519). */
export function signDecision(decision: Decision, privateKey: string): Decision {
  const signature = sign(null, Buffer.from(signedText(decision)), createPrivateKey(privateKey));
  return { ...decision, signature: signature.toString('base64url') };
}
