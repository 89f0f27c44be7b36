import { createPublicKey, verify } from 'node:crypto';
import type { Decision } from '../core/decision';
import { signedText } from '../core/decision-schema';
import type { SignatureCheck } from '../core/judge-decision';
import type { Policy } from '../core/policy';

/** Whether a decision is signed by a key that the policy lists for its reviewer now. */
export function checkSignature(decision: Decision, policy: Policy): SignatureCheck {
  if (decision.signature === undefined) return 'absent';
  const keys = Object.hasOwn(policy.people, decision.reviewer) ? (policy.people[decision.reviewer]?.keys ?? []) : [];
  const signature = Buffer.from(decision.signature, 'base64url');
  const text = Buffer.from(signedText(decision));
  return keys.some((key) => verify(null, text, publicKeyOf(key), signature)) ? 'valid' : 'invalid';
}

function publicKeyOf(key: string) {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: key.replace(/^ed25519:/, '') }, format: 'jwk' });
}
