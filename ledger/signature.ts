import { createPublicKey, verify } from 'node:crypto';
import type { Decision } from '../core/decision';
import { signedText } from '../core/decision-schema';
import type { SignatureCheck } from '../core/judge-decision';
import type { Policy } from '../core/policy';
import { personOf } from '../core/policy-lookup';

/** Whether a decision is signed by a key that the policy lists for its reviewer now, or for the console. */
export function checkSignature(decision: Decision, policy: Policy): SignatureCheck {
  if (decision.signature === undefined) return 'absent';
  const person = personOf(policy, decision.reviewer);
  const signature = Buffer.from(decision.signature, 'base64url');
  const text = Buffer.from(signedText(decision));
  const isBy = (keys: readonly string[]) => keys.some((key) => verify(null, text, publicKeyOf(key), signature));
  if (person === null) return 'invalid';
  if (isBy(person.keys)) return 'valid';
  return isBy(policy.console?.keys ?? []) ? 'vouched' : 'invalid';
}

function publicKeyOf(key: string) {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: key.replace(/^ed25519:/, '') }, format: 'jwk' });
}
