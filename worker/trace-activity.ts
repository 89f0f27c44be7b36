import { createHash } from 'node:crypto';
import type { Context } from '@temporalio/activity';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import type { ActivityInterceptors } from '@temporalio/worker';
import { operationId } from '../core/digest';
import { memberOf } from '../core/member';
import { inSpan, underOwnTrace, underTrace, type TraceContext } from '../tracing/span';
import { tracePlace } from '../tracing/trace-place';
import { TRACE_HEADER } from '../workflows/messages';

type Attributes = Readonly<Record<string, string>>;

/** Each attempt of an activity as a span of its turn's trace. */
export function traceActivity({ info }: Context): ActivityInterceptors {
  const { activityType, workflowExecution } = info;
  const { workflowId = '', runId = '' } = workflowExecution ?? {};
  const attributesOf = (input: unknown): Attributes => ({ 'temporal.workflow_id': workflowId, ...namesIn(input) });
  return {
    inbound: {
      execute: ({ args, headers }, next) => {
        const span = { attributes: () => attributesOf(args[0]), resultAttributes: endOf };
        const work = () => inSpan(`holdpoint ${activityType}`, span, () => next({ args, headers }));
        const place = placeIn(headers);
        return place === null ? underOwnTrace(traceIdOf(runId), work) : underTrace(place, work);
      },
    },
  };
}

function placeIn(headers: Headers): TraceContext | null {
  const header = headers[TRACE_HEADER];
  const place: unknown = header === undefined ? null : defaultPayloadConverter.fromPayload(header);
  const found = tracePlace({ traceparent: memberOf(place, 'traceparent'), tracestate: memberOf(place, 'tracestate') });
  return found.traceparent === undefined ? null : found;
}

/** A turn whose runtime traces nothing is one trace all the same: all its activities find the same id. */
function traceIdOf(runId: string): string {
  return createHash('sha256').update(runId).digest('hex').slice(0, 32);
}

/** Which operation and tool an activity is about, and nothing else that it was given. */
function namesIn(input: unknown): Attributes {
  const call = memberOf(input, 'call');
  const given = typeof input === 'string' ? input : memberOf(input, 'operationId');
  return texts({
    'holdpoint.turn_id': memberOf(memberOf(input, 'turn') ?? input, 'turnId'),
    'holdpoint.operation_id': given ?? memberOf(memberOf(input, 'message'), 'operationId') ?? operationOf(input),
    'holdpoint.server': memberOf(call, 'server'),
    'holdpoint.tool': memberOf(call, 'tool'),
  });
}

function operationOf(input: unknown): string | undefined {
  const turn = memberOf(input, 'turn');
  const requesterSubject = memberOf(memberOf(turn, 'requester'), 'subject');
  const [turnId, callId] = [memberOf(turn, 'turnId'), memberOf(memberOf(input, 'call'), 'id')];
  const isNamed = typeof requesterSubject === 'string' && typeof turnId === 'string' && typeof callId === 'string';
  return isNamed ? operationId({ requesterSubject, turnId, callId }) : undefined;
}

/** How it ended, as a code. */
function endOf(result: unknown): Attributes {
  const state = memberOf(result, 'state');
  return texts({
    'holdpoint.state': memberOf(state, 'status'),
    'holdpoint.outcome': memberOf(memberOf(state, 'end'), 'outcome'),
    'holdpoint.verdict': memberOf(memberOf(result, 'verdict'), 'code'),
  });
}

function texts(attributes: Readonly<Record<string, unknown>>): Attributes {
  const entries = Object.entries(attributes).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(entries);
}
