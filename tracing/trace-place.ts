import type { TraceContext } from './span';

/** W3C Trace Context: https://www.w3.org/TR/trace-context/ */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** The place in a trace that HTTP headers, a `_meta` or Temporal's header name alike; empty where they name none. */
export function tracePlace({ traceparent, tracestate }: Readonly<Record<string, unknown>>): TraceContext {
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return {};
  return { traceparent, ...(typeof tracestate === 'string' && TRACESTATE.test(tracestate) && { tracestate }) };
}
