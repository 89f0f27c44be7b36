import { z } from 'zod';
import { isJsonObject, parseStrictJson } from '../core/json';
import type { JsonValue } from '../core/json';
import type { Permit } from '../core/permit';

export type PermitReading =
  { readonly ok: true; readonly permit: Permit } | { readonly ok: false; readonly detail: string };

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hex digits');
const rule = z.object({ id: z.string(), version: z.string() }).nullable();
const seconds = z.int().min(0);

const claims = z.object({
  v: z.literal(1),
  jti: z.string().min(1),
  requester: z.object({ subject: z.string(), agent: z.string(), chain: z.array(z.string()) }),
  server: z.string(),
  tool: z.string(),
  operationId: z.string().min(1),
  bindingDigest: digest,
  argumentsDigest: digest,
  request: z.object({ operationId: z.string(), revision: z.int().min(1) }).nullable(),
  deciders: z.array(z.string()),
  askedRule: rule,
  permittedRule: rule,
  emergency: z.boolean(),
  verified: z.boolean(),
  iat: seconds,
  exp: seconds,
});

/** Reads the payload of a permit. A version that this release does not know is refused; further claims are ignored. */
export function readPermit(payload: Uint8Array): PermitReading {
  const json = parseStrictJson(new TextDecoder().decode(payload));
  if (!json.ok) return { ok: false, detail: json.detail };
  const parsed = claims.safeParse(json.value);
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the payload'}: ${message}`);
    return { ok: false, detail: issues.join('; ') };
  }
  const { jti, iat, exp, ...rest } = parsed.data;
  const times = { issuedAtMs: iat * 1_000, expiresAtMs: exp * 1_000 };
  return { ok: true, permit: { ...rest, id: jti, resourceVersion: versionIn(json.value), ...times } };
}

function versionIn(payload: JsonValue): JsonValue {
  return isJsonObject(payload) ? (payload['resourceVersion'] ?? null) : null;
}
