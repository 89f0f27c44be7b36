import {
  context,
  createContextKey,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
} from '@opentelemetry/api';

/** W3C Trace Context: the place in a trace, as it travels. Never baggage, which could carry anything. */
// A type and not an interface, so that it is a JSON object too.
export type TraceContext = {
  readonly traceparent?: string;
  readonly tracestate?: string;
};

export interface SpanOptions<T> {
  /** `client`: asks somebody else; `server`: is asked from outside; `internal` by default. */
  readonly kind?: 'client' | 'server' | 'internal';
  /** Ids, names and states; never what a call carries or what somebody wrote. Asked for where the span is recorded. */
  readonly attributes?: () => Attributes;
  /** What the result adds. */
  readonly resultAttributes?: (result: T) => Attributes;
}

const KINDS = { client: SpanKind.CLIENT, server: SpanKind.SERVER, internal: SpanKind.INTERNAL } as const;

/**
 * Runs `work` as a span of the trace that is under way. Without an OpenTelemetry SDK in the process it only runs it.
 * What `work` throws goes through; its words stay out of the trace.
 */
export function inSpan<T>(name: string, options: SpanOptions<T>, work: () => Promise<T>): Promise<T> {
  const { kind = 'internal', attributes, resultAttributes } = options;
  return trace.getTracer('holdpoint').startActiveSpan(name, { kind: KINDS[kind] }, async (span) => {
    const isRecorded = span.isRecording();
    if (isRecorded && attributes !== undefined) span.setAttributes(attributes());
    try {
      const result = await work();
      if (isRecorded && resultAttributes !== undefined) span.setAttributes(resultAttributes(result));
      return result;
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown');
      throw error;
    } finally {
      span.end();
    }
  });
}

/** Whether a trace is under way; without an OpenTelemetry SDK, never. */
export function isTraced(): boolean {
  return trace.getSpanContext(context.active()) !== undefined;
}

/** The place in the trace that is under way; empty where there is none. */
export function traceContext(): TraceContext {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  const { traceparent, tracestate } = carrier;
  return { ...(traceparent !== undefined && { traceparent }), ...(tracestate !== undefined && { tracestate }) };
}

/** Runs `work` at a place in a trace that came from elsewhere; what cannot be read as one counts as none. */
export function underTrace<T>(place: TraceContext, work: () => T): T {
  return context.with(contextOf(place), work);
}

/** Runs `work` as the beginning of a trace of this id: 16 bytes in hexadecimal. Whether it is sampled follows from the id. */
export function underOwnTrace<T>(traceId: string, work: () => T): T {
  return context.with(ROOT_CONTEXT.setValue(OWN_TRACE, traceId), work);
}

/** The id of the trace that begins here; undefined where any will do. */
export function ownTraceId(): string | undefined {
  const traceId = context.active().getValue(OWN_TRACE);
  return typeof traceId === 'string' ? traceId : undefined;
}

const OWN_TRACE = createContextKey('holdpoint: the id of the trace that begins here');

function contextOf({ traceparent, tracestate }: TraceContext): Context {
  return propagation.extract(ROOT_CONTEXT, { traceparent, tracestate });
}
