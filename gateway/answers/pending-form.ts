import type { JsonObject } from '../../core/json';

/**
 * What `structuredContent` holds where there is no result of the tool to show: the model of a client that shows nothing
 * else still reads the sentence. `executed` is a call that took effect, but whose own answer cannot be had.
 */
export interface PendingForm {
  readonly status: 'pending' | 'allowed' | 'running' | 'executed';
  readonly message: string;
  readonly operationId: string;
}

/** The form as `structuredContent`; `PENDING_FORM_SCHEMA` admits it. */
export function pendingForm({ status, message, operationId }: PendingForm): JsonObject {
  return { holdpoint: { status, message, operationId } };
}

/**
 * What a gated tool's listed schema admits beside its own. Closed at both levels: a result of the tool that breaks its
 * own schema does not pass as this, whatever else it holds.
 */
export const PENDING_FORM_SCHEMA: JsonObject = {
  type: 'object',
  description: 'Not an answer of the tool: where a call stands that needs approval. Read the message.',
  properties: {
    holdpoint: {
      type: 'object',
      properties: {
        status: { enum: ['pending', 'allowed', 'running', 'executed'] },
        message: { type: 'string' },
        operationId: { type: 'string' },
      },
      required: ['status', 'message', 'operationId'],
      additionalProperties: false,
    },
  },
  required: ['holdpoint'],
  additionalProperties: false,
};
