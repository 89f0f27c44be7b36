import type { Headers, Next, WorkflowInterceptors, WorkflowOutboundCallsInterceptor } from '@temporalio/workflow';
import { TRACE_HEADER } from './messages';

type Outbound = Required<WorkflowOutboundCallsInterceptor>;

/**
 * Hands the place of a turn in its trace on to its activities. A header is no part of what a replay compares, so this
 * changes no history; and a turn that waits holds nothing of OpenTelemetry.
 */
export function interceptors(): WorkflowInterceptors {
  let carried: Headers = {};
  const withTrace = <Input extends { readonly headers: Headers }>(input: Input): Input => ({
    ...input,
    headers: { ...carried, ...input.headers },
  });
  return {
    inbound: [
      {
        execute: (input, next) => {
          const header = input.headers[TRACE_HEADER];
          if (header !== undefined) carried = { [TRACE_HEADER]: header };
          return next(input);
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next: Next<Outbound, 'scheduleActivity'>) => next(withTrace(input)),
        scheduleLocalActivity: (input, next: Next<Outbound, 'scheduleLocalActivity'>) => next(withTrace(input)),
      },
    ],
  };
}
