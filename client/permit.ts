import { compactVerify, decodeProtectedHeader } from 'jose';
import { digestOf } from '../core/digest';
import { refusal } from '../core/errors';
import type { ErrorCode } from '../core/errors';
import type { JsonObject } from '../core/json';
import { PERMIT_TYPE } from '../core/permit';
import type { Permit } from '../core/permit';
import { keyLookUp } from './permit-keys';
import type { PermitKeys } from './permit-keys';
import { readPermit } from './permit-schema';

export interface PermitCheck {
  readonly keys: PermitKeys;
  /** Epoch milliseconds; the clock of this process by default. */
  readonly nowMs?: number;
  /** What the call at hand is; each part that is given must be the permit's. */
  readonly expect?: {
    readonly server?: string;
    readonly tool?: string;
    readonly operationId?: string;
    readonly argumentsDigest?: string;
  };
}

export type PermitErrorCode = Exclude<Extract<ErrorCode, `PERMIT_${string}`>, 'PERMIT_KEY'>;

/** The permit, or why it does not count. */
export type PermitVerdict =
  | { readonly ok: true; readonly permit: Permit }
  | { readonly ok: false; readonly code: PermitErrorCode; readonly detail: string };

/**
 * Checks a permit: its form, the algorithm (EdDSA and no other), the signature by one of `keys`, the time, and that it
 * is for the call at hand. A valid permit proves that this decision was recorded; whether the requester may do this is
 * still for the caller to decide. Codes: PERMIT_ALGORITHM, PERMIT_EXPIRED, PERMIT_MALFORMED, PERMIT_MISMATCH,
 * PERMIT_SIGNATURE, PERMIT_UNKNOWN_KEY. Never throws.
 */
export async function verifyPermit(
  token: unknown,
  { keys, nowMs = Date.now(), expect }: PermitCheck,
): Promise<PermitVerdict> {
  if (typeof token !== 'string') return rejected('PERMIT_MALFORMED', { detail: 'there is no text where it belongs' });
  const header = headerOf(token);
  if (header === undefined) return rejected('PERMIT_MALFORMED', { detail: 'it is not a compact JWS' });
  const { alg, kid, typ } = header;
  if (alg !== 'EdDSA') return rejected('PERMIT_ALGORITHM', { algorithm: alg ?? 'nothing' });
  if (typ !== PERMIT_TYPE || kid === undefined) {
    return rejected('PERMIT_MALFORMED', { detail: `its header names no key, or a type other than ${PERMIT_TYPE}` });
  }
  const signed = await verifySignature(token, kid, keys);
  if (!signed.ok) return signed;
  const read = readPermit(signed.payload);
  if (!read.ok) return rejected('PERMIT_MALFORMED', { detail: read.detail });
  const { permit } = read;
  if (nowMs >= permit.expiresAtMs) {
    return rejected('PERMIT_EXPIRED', { id: permit.id, expired: new Date(permit.expiresAtMs).toISOString() });
  }
  const field = differing(permit, expect);
  return field === undefined ? { ok: true, permit } : rejected('PERMIT_MISMATCH', { id: permit.id, field });
}

/** The digest of a call's arguments as a permit states it: `sha256:` of their canonical JSON (RFC 8785). */
export function argumentsDigest(args: JsonObject): string {
  return digestOf(args);
}

type Signed =
  | { readonly ok: true; readonly payload: Uint8Array }
  | { readonly ok: false; readonly code: PermitErrorCode; readonly detail: string };

async function verifySignature(token: string, kid: string, keys: PermitKeys): Promise<Signed> {
  try {
    const { payload } = await compactVerify(token, await keyLookUp(keys), { algorithms: ['EdDSA'] });
    return { ok: true, payload };
  } catch (error) {
    switch (codeOf(error)) {
      case 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED':
        return rejected('PERMIT_SIGNATURE', {});
      case 'ERR_JWS_INVALID':
      case 'ERR_JOSE_NOT_SUPPORTED':
        return rejected('PERMIT_MALFORMED', { detail: 'it is not a compact JWS' });
      default:
        return rejected('PERMIT_UNKNOWN_KEY', { key: kid, detail: messageOf(error) });
    }
  }
}

function headerOf(token: string): { alg?: string; kid?: string; typ?: string } | undefined {
  try {
    return decodeProtectedHeader(token);
  } catch {
    return undefined;
  }
}

function differing(permit: Permit, expect: PermitCheck['expect'] = {}): string | undefined {
  const { server, tool, operationId, argumentsDigest: digest } = expect;
  if (server !== undefined && server !== permit.server) return 'server';
  if (tool !== undefined && tool !== permit.tool) return 'tool';
  if (operationId !== undefined && operationId !== permit.operationId) return 'operation';
  return digest !== undefined && digest !== permit.argumentsDigest ? 'arguments digest' : undefined;
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : 'unknown';
}

function rejected(
  code: PermitErrorCode,
  values: Readonly<Record<string, string>>,
): { readonly ok: false; readonly code: PermitErrorCode; readonly detail: string } {
  return { ok: false, code, detail: refusal(code, values).detail };
}
