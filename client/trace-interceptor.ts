import { defaultPayloadConverter, type Headers, type WorkflowClientInterceptor } from '@temporalio/client';
import { traceContext } from '../tracing/span';
import { TRACE_HEADER } from '../workflows/messages';

/**
 * Sends the place in the caller's trace along with the start of a turn. `connect` sets it up; a Temporal client of one's own
 * gets it as `interceptors: { workflow: [traceInterceptor] }`.
 */
export const traceInterceptor: WorkflowClientInterceptor = {
  startWithDetails: (input, next) => next({ ...input, headers: withTrace(input.headers) }),
  startUpdateWithStart: (input, next) =>
    next({ ...input, workflowStartHeaders: withTrace(input.workflowStartHeaders) }),
};

function withTrace(headers: Headers): Headers {
  const place = traceContext();
  if (place.traceparent === undefined) return headers;
  return { ...headers, [TRACE_HEADER]: defaultPayloadConverter.toPayload(place) };
}
