import { z } from 'zod';
import type { ClosedState } from './closed-state';

/** An event of the outbox, as far as notices look at it before they ask the ledger. */
export type StoredEvent =
  | {
      readonly kind: 'asks';
      readonly event: 'opened' | 'escalated' | 'reminder';
      readonly operationId: string;
      readonly revision: number;
      /** Null: as many as the request has reached. */
      readonly level: number | null;
      readonly server: string;
      readonly rule: string | null;
      readonly openedAtMs: number;
      readonly deadlineAtMs: number;
    }
  | {
      readonly kind: 'closes';
      readonly operationId: string;
      readonly revision: number;
      readonly state: ClosedState;
      readonly reason: string | null;
    }
  | {
      readonly kind: 'emergency';
      readonly operationId: string;
      readonly revision: number;
      readonly server: string;
      /** Whose approvers were skipped. */
      readonly rule: string | null;
      readonly emergency: EmergencyFacts;
    }
  | {
      readonly kind: 'ends';
      readonly operationId: string;
      readonly state: 'executed' | 'failed' | 'unknown' | 'settled';
      readonly server: string;
    };

const request = z.object({
  operationId: z.string(),
  revision: z.int(),
  server: z.string(),
  ask: z.object({ rule: z.object({ id: z.string() }).nullable() }),
  openedAtMs: z.int(),
  deadlineAtMs: z.int(),
});

const asks = z
  .object({
    type: z.enum(['opened', 'escalated', 'reminded']),
    data: z.object({ request, level: z.int().optional() }),
  })
  .transform(({ type, data }): StoredEvent => {
    const { ask, ...of } = data.request;
    const event = type === 'reminded' ? 'reminder' : type;
    const level = event === 'opened' ? 0 : (data.level ?? null);
    return { kind: 'asks', event, level, rule: ask.rule?.id ?? null, ...of };
  });

const closes = z
  .object({
    type: z.enum(['allowed', 'denied', 'expired', 'withdrawn', 'refused']),
    data: z.object({ operationId: z.string(), revision: z.int(), reason: z.string().nullable() }),
  })
  .transform(({ type, data }): StoredEvent => ({ kind: 'closes', state: type, ...data }));

const ends = z
  .object({
    type: z.enum(['executed', 'failed', 'unknown', 'settled']),
    data: z.object({ operationId: z.string(), server: z.string() }),
  })
  .transform(({ type, data }): StoredEvent => ({ kind: 'ends', state: type, ...data }));

const emergencyFacts = z.object({
  grantId: z.string(),
  rule: z.string(),
  ticket: z.string(),
  reason: z.string(),
  dueAtMs: z.int(),
});

/** What is told of an emergency beside its request. */
export type EmergencyFacts = z.output<typeof emergencyFacts>;

const emergency = z
  .object({ type: z.literal('allowed'), data: emergencyFacts.extend({ request }) })
  .transform(({ data: { request: asked, ...facts } }): StoredEvent => {
    const { operationId, revision, server, ask } = asked;
    return { kind: 'emergency', operationId, revision, server, rule: ask.rule?.id ?? null, emergency: facts };
  });

const EMERGENCY = 'dev.holdpoint.emergency.';
const REQUEST = 'dev.holdpoint.request.';
const OPERATION = 'dev.holdpoint.operation.';

const SCHEMAS: readonly (readonly [z.ZodType<StoredEvent>, string])[] = [
  [ends, OPERATION],
  [emergency, EMERGENCY],
  [z.union([asks, closes]), REQUEST],
];

/** An event by its type and stored bytes; null for one that no notice tells of. */
export function readStored({ type, body }: { readonly type: string; readonly body: string }): StoredEvent | null {
  const event = z.object({ data: z.unknown() }).safeParse(JSON.parse(body));
  const known = SCHEMAS.find(([, prefix]) => type.startsWith(prefix));
  if (!event.success || known === undefined) return null;
  const [schema, prefix] = known;
  const read = schema.safeParse({ type: type.slice(prefix.length), data: event.data.data });
  return read.success ? read.data : null;
}
