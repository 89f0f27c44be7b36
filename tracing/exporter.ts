import { context, diag, DiagLogLevel, propagation, trace } from '@opentelemetry/api';
import { ownTraceId } from './span';

/** Where the exporter tells of collectors that do not answer. */
interface ExporterLog {
  warn(fields: Readonly<Record<string, unknown>>, event: string): void;
}

export interface SpanExport {
  /** Sends the last spans. `late`: they were not all taken within 1 s, or refused, and something may still be under way. */
  stop(): Promise<'exported' | 'late'>;
}

const STOP_MS = 1_000;
const NOTHING: SpanExport = { stop: () => Promise.resolve('exported') };

/** The collector of spans that the environment names; without one nothing of OpenTelemetry's SDK is even loaded. */
export function collectorOf(env: NodeJS.ProcessEnv): string | null {
  const said = (name: string): string => (env[name] ?? '').trim();
  const isDisabled = said('OTEL_SDK_DISABLED').toLowerCase() === 'true';
  const exporters = said('OTEL_TRACES_EXPORTER');
  const isWanted = exporters === '' || exporters.split(',').some((name) => name.trim() === 'otlp');
  const endpoint = ENDPOINTS.map(said).find((text) => text !== '');
  return isDisabled || !isWanted || endpoint === undefined ? null : endpoint;
}

/** The first that is set counts. */
const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'];

/**
 * Sends the spans of this process as OTLP over HTTP in JSON to where OpenTelemetry's own variables say. A collector that
 * does not answer costs spans and a warning, and holds no call up.
 */
export async function startExporter(
  serviceName: string,
  { env, log }: { readonly env: NodeJS.ProcessEnv; readonly log: ExporterLog },
): Promise<SpanExport> {
  if (collectorOf(env) === null) return NOTHING;
  const { BatchSpanProcessor, NodeTracerProvider, RandomIdGenerator } = await import('@opentelemetry/sdk-trace-node');
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
  const { W3CTraceContextPropagator } = await import('@opentelemetry/core');
  const warn = (detail: string): void => log.warn({ detail }, 'tracing.notExported');
  const silent = (): void => undefined;
  diag.setLogger({ error: warn, warn: silent, info: silent, debug: silent, verbose: silent }, DiagLogLevel.ERROR);
  const random = new RandomIdGenerator();
  const provider = new NodeTracerProvider({
    resource: await resourceOf(serviceName),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
    idGenerator: {
      generateTraceId: () => ownTraceId() ?? random.generateTraceId(),
      generateSpanId: () => random.generateSpanId(),
    },
  });
  provider.register({ propagator: new W3CTraceContextPropagator() });
  return {
    stop: async () => {
      const ended = await endWithin(provider.shutdown(), STOP_MS);
      for (const part of [trace, context, propagation, diag]) part.disable();
      return ended;
    },
  };
}

/** What the environment says of the process comes before what Holdpoint says of it. */
async function resourceOf(serviceName: string) {
  const resources = await import('@opentelemetry/resources');
  return resources
    .defaultResource()
    .merge(resources.resourceFromAttributes({ 'service.name': serviceName }))
    .merge(resources.detectResources({ detectors: [resources.envDetector] }));
}

async function endWithin(ending: Promise<void>, limitMs: number): Promise<'exported' | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => (timer = setTimeout(() => resolve('late'), limitMs)));
  const exported = ending.then(
    () => 'exported' as const,
    () => 'late' as const,
  );
  const ended = await Promise.race([exported, late]);
  clearTimeout(timer);
  return ended;
}
