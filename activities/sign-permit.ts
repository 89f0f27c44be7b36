import { CompactSign } from 'jose';
import { PERMIT_TYPE } from '../core/permit';
import type { Permit } from '../core/permit';
import type { PermitKey } from './permit-key';

/** The permit as a compact JWS (RFC 7515, Ed25519). Its times are whole seconds, as in every JWT. */
export function signPermit(permit: Permit, { kid, privateKey }: PermitKey): Promise<string> {
  const { id, issuedAtMs, expiresAtMs, ...claims } = permit;
  const payload = { ...claims, jti: id, iat: Math.floor(issuedAtMs / 1_000), exp: Math.ceil(expiresAtMs / 1_000) };
  return new CompactSign(new TextEncoder().encode(JSON.stringify(payload)))
    .setProtectedHeader({ alg: 'EdDSA', kid, typ: PERMIT_TYPE })
    .sign(privateKey);
}
