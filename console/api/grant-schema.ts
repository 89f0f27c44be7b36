import { z } from '@hono/zod-openapi';
import { ask } from './request-schema';
import { jsonObject, operationId, reason, text, texts, timeMs } from './schema-parts';

export const grantId = z.string().min(1).max(200).openapi({ description: 'The whole id of a grant.' });

const revocationParts = {
  revokedAtMs: timeMs.nullable(),
  revokedBy: text.nullable(),
  revokedReason: text.nullable(),
};

const grant = z
  .object({
    grantId: text,
    operationId,
    revision: z.int(),
    once: z.boolean(),
    requester: z.object({ subject: text, agent: text }),
    ...{ server: text, tool: text },
    ask,
    ...{ deciders: texts, verified: z.boolean(), uses: z.int(), maxUses: z.int() },
    totals: jsonObject,
    ...{ grantedAtMs: timeMs, expiresAtMs: timeMs },
    ...revocationParts,
  })
  .openapi('Grant', { description: 'What an allowed request yields, and what is left of it.' });

export const grantList = z
  .object({ items: z.array(grant).readonly(), nowMs: timeMs })
  .openapi('GrantList', { description: 'The latest 200 at most.' });

export const revocation = z
  .strictObject({ reason })
  .openapi('Revocation', { example: { reason: 'the incident is over' } });

export const revoked = z
  .object({ grantId: text, operationId, uses: z.int(), maxUses: z.int(), ...revocationParts })
  .openapi('RevokedGrant', { description: 'Uses that were consumed before stay sent.' });
