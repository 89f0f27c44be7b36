import { jsonOf } from '../../core/json-record';
import type { JsonObject } from '../../core/json';
import type { ApprovalRequest } from '../../core/request';
import type { GrantRow } from '../rows';
import type { OutboxEvent } from '../transaction';

type RequestEventName =
  'opened' | 'escalated' | 'reminded' | 'allowed' | 'denied' | 'expired' | 'withdrawn' | 'refused' | 'superseded';

/** `dev.holdpoint.request.*`: the request whole when it opens, escalates or reminds; its id, revision and end otherwise. */
export function requestEvent(name: RequestEventName, request: ApprovalRequest, more: JsonObject = {}): OutboxEvent {
  const { operationId, revision, shortId, workflowId } = request;
  const whole = name === 'opened' || name === 'escalated' || name === 'reminded';
  const data = whole ? { request: jsonOf(request) } : { operationId, revision, shortId, workflowId };
  const suffix =
    typeof more['level'] === 'number'
      ? `:${more['level']}`
      : typeof more['atMs'] === 'number'
        ? `:${more['atMs']}`
        : '';
  return {
    id: `${operationId}:${revision}:${name}${suffix}`,
    type: `dev.holdpoint.request.${name}`,
    subject: operationId,
    data: { ...data, ...more },
  };
}

/** `dev.holdpoint.emergency.*`: somebody allowed under an emergency rule, with the request whole; its review was closed. */
export function emergencyEvent(
  name: 'allowed' | 'reviewed',
  grant: Pick<GrantRow, 'grant_id' | 'operation_id' | 'revision'>,
  data: JsonObject,
): OutboxEvent {
  const { grant_id: grantId, operation_id: operationId, revision } = grant;
  return {
    id: `${operationId}:${revision}:emergency:${name}`,
    type: `dev.holdpoint.emergency.${name}`,
    subject: operationId,
    data: { operationId, grantId, ...data },
  };
}

type OperationEventName = 'executed' | 'failed' | 'unknown' | 'settled' | 'reversed';

/** `dev.holdpoint.operation.*`: how an operation ended, that a person has to settle it, or that it was undone. */
export function operationEvent(name: OperationEventName, operationId: string, data: JsonObject): OutboxEvent {
  return {
    id: `${operationId}:${name}`,
    type: `dev.holdpoint.operation.${name}`,
    subject: operationId,
    data: { operationId, ...data },
  };
}
