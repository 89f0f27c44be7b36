import { context, diag, DiagLogLevel, propagation, trace } from '@opentelemetry/api';

/** Where the exporter tells of collectors that do not answer. */
interface ExporterLog {
  warn(fields: Readonly<Record<string, unknown>>, event: string): void;
}

const STOP_MS = 1_000;
/** An export that is under way keeps the process from its end for so long; OpenTelemetry's own default is 10 s. */
const EXPORT_MS = 3_000;
const NOTHING = { stop: () => Promise.resolve() };

/** Whether the environment names a collector of spans; without one nothing of OpenTelemetry's SDK is even loaded. */
export function isExporting(env: NodeJS.ProcessEnv): boolean {
  const names = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  return env['OTEL_SDK_DISABLED'] !== 'true' && names.some((name) => (env[name] ?? '') !== '');
}

/**
 * Sends the spans of this process as OTLP over HTTP in JSON to where OpenTelemetry's own variables say. A collector that
 * does not answer costs spans and a warning, and holds no call up; `stop` waits 1 s at most for the last ones, and
 * the process ends within three.
 */
export async function startExporter(
  serviceName: string,
  { env, log }: { readonly env: NodeJS.ProcessEnv; readonly log: ExporterLog },
): Promise<{ stop(): Promise<void> }> {
  if (!isExporting(env)) return NOTHING;
  const { BatchSpanProcessor, NodeTracerProvider } = await import('@opentelemetry/sdk-trace-node');
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
  const { resourceFromAttributes } = await import('@opentelemetry/resources');
  const { W3CTraceContextPropagator } = await import('@opentelemetry/core');
  const warn = (detail: string): void => log.warn({ detail }, 'tracing.notExported');
  const silent = (): void => undefined;
  diag.setLogger({ error: warn, warn: silent, info: silent, debug: silent, verbose: silent }, DiagLogLevel.ERROR);
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': env['OTEL_SERVICE_NAME'] ?? serviceName }),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter(timeoutOf(env)))],
  });
  provider.register({ propagator: new W3CTraceContextPropagator() });
  return {
    stop: async () => {
      await endingWithin(provider.shutdown(), STOP_MS);
      for (const part of [trace, context, propagation, diag]) part.disable();
    },
  };
}

function timeoutOf(env: NodeJS.ProcessEnv): { readonly timeoutMillis?: number } {
  const isSet = ['OTEL_EXPORTER_OTLP_TIMEOUT', 'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT'].some((name) => name in env);
  return isSet ? {} : { timeoutMillis: EXPORT_MS };
}

async function endingWithin(ending: Promise<void>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, limitMs)));
  await Promise.race([ending.catch(() => undefined), late]);
  clearTimeout(timer);
}
