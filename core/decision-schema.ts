import { z } from 'zod';
import type { Decision } from './decision';
import { canonicalJson, checkJsonValue } from './json';
import { jsonOf } from './json-record';
import { issuesText, strictObject } from './schema-issues';

const text = z.string().min(1).max(300);

const decision = strictObject({
  v: z.literal(1),
  decisionId: text,
  operationId: z.string().regex(/^op_[0-9a-f]{40}$/, 'an operation id is op_ and 40 hex digits'),
  revision: z.int().min(1).max(1_000),
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/, 'a digest is sha256: and 64 hex digits'),
  answer: z.enum(['allow', 'deny']),
  reviewer: text,
  reason: z.string().max(4_000).exactOptional(),
  minutes: z.int().min(1).max(525_600).exactOptional(),
  emergency: strictObject({ rule: text, ticket: z.string().max(300) }).exactOptional(),
  signIn: strictObject({ atMs: z.int().min(0), acr: text.exactOptional() }).exactOptional(),
  channel: z.enum(['update', 'signal', 'cli', 'console', 'gateway']),
  signature: z.string().max(200).exactOptional(),
});

export type ParsedDecision =
  { readonly ok: true; readonly decision: Decision } | { readonly ok: false; readonly detail: string };

/** Parses a decision strictly; a key that it does not know (say, arguments) makes the whole decision malformed. */
export function parseDecision(message: unknown): ParsedDecision {
  const plain = checkJsonValue(message);
  if (!plain.ok) return plain;
  const parsed = decision.safeParse(plain.value);
  if (parsed.success) return { ok: true, decision: parsed.data };
  return { ok: false, detail: issuesText(parsed.error, 'the decision') };
}

/** The text that a reviewer's key signs: canonical JSON of every field but the signature, under a label of its own. */
export function signedText(decision: Decision): string {
  const { signature: _signature, channel: _channel, ...signed } = decision;
  return canonicalJson(['holdpoint/decision/1', jsonOf(signed)]);
}
