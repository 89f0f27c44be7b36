import { collectorOf } from '../tracing/exporter';
import type { Check } from './doctor';
import { safe } from './text';

const ANSWER_MS = 5_000;

/** Whether spans are exported by processes with this environment, and whether anything is there to take them. */
export async function checkTraces(env: NodeJS.ProcessEnv): Promise<Check> {
  const name = 'traces';
  const collector = collectorOf(env);
  if (collector === null)
    return { name, status: 'ok', detail: 'off; OTEL_EXPORTER_OTLP_ENDPOINT, where it is set, turns them on' };
  // Of the address only what holds no password and no key.
  const url = URL.canParse(collector) ? new URL(collector) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    return warning('the OTEL_EXPORTER_OTLP_ENDPOINT that is set is no http or https URL: no span is exported');
  const asked = fetch(url.origin, { signal: AbortSignal.timeout(ANSWER_MS), redirect: 'manual' });
  const answer = await asked.catch(() => null);
  await answer?.body?.cancel();
  if (answer !== null) return { name, status: 'ok', detail: `spans go to ${safe(url.origin)}` };
  return warning(
    `nothing answers at ${safe(url.origin)}, so spans are lost: it is the HTTP port of a collector, 4318 as a rule, not that of gRPC`,
  );
}

function warning(detail: string): Check {
  return { name: 'traces', status: 'warn', detail };
}
