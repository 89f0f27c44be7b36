import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { trace } from '@opentelemetry/api';
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client, type ClientInterceptors } from '@temporalio/client';
import { connect, traceInterceptor } from '../../client';
import type { Holdpoint, Turn } from '../../client';
import { collectorOf, startExporter, type SpanExport } from '../../tracing/exporter';
import { underTrace } from '../../tracing/span';
import { assertBuilt, start, startProcess } from '../support/cli';
import { eventually } from '../support/eventually';
import { called, collected, openRequest } from '../support/gateway-rows';
import { approvalOf, callTool, startGatewayStage, type GatewayStage } from '../support/gateway-stage';
import { U1 } from '../support/harness';
import { recordedLog, type RecordedLog } from '../support/recorded-log';
import { ok, silent, startReceiver, type WebhookReceiver } from '../support/webhook-receiver';

/** What a span says, as a collector gets it. */
interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly status: { readonly code?: number };
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Of the process that it is of. */
  readonly resource: Readonly<Record<string, unknown>>;
}

type Attributes = readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[];

interface Exported {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Attributes };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<Span, 'attributes' | 'resource'> & { readonly attributes: Attributes })[];
    }[];
  }[];
}

const DIST = join(__dirname, '../../dist');
/** A part of Holdpoint that makes one span, ends with 3, and says which packages of OpenTelemetry it has loaded. */
const TRACED_PROGRAM = `
const { withTracing } = require(process.argv[1] + '/cli/with-tracing');
const { inSpan } = require(process.argv[1] + '/tracing/span');
const log = { warn: () => undefined };
withTracing('worker', { env: process.env, log }, () => inSpan('work', {}, async () => console.log('ran'))).then(() => {
  const names = Object.keys(require.cache).map((path) => /@opentelemetry\\/([^/]+)/.exec(path)?.[1]);
  console.error([...new Set(names.filter((name) => name !== undefined))].join('\\n'));
  process.exitCode = 3;
});`;
const SECRET = 'hunter2-4711';
const CALLER = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const OTHER = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const SAMPLED = '00-80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-01';
const OWN_CLIENT = '00-1c9a5f4e6d7b4a0e8f2b3c4d5e6f7a8b-a1b2c3d4e5f60718-01';
const THIRD = '00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01';

let stage: GatewayStage;
let collector: WebhookReceiver;
const callers: McpClient[] = [];
let log: RecordedLog;
let exporter: SpanExport;
beforeAll(async () => {
  [stage, collector] = await Promise.all([startGatewayStage(), startReceiver()]);
  process.env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] = collector.url;
  process.env['OTEL_RESOURCE_ATTRIBUTES'] = 'deployment.environment.name=test';
  process.env['OTEL_BSP_SCHEDULE_DELAY'] = '50';
  process.env['OTEL_EXPORTER_OTLP_TIMEOUT'] = '1000';
  log = recordedLog();
  exporter = await startExporter('holdpoint-test', { env: process.env, log });
}, 60_000);
afterAll(async () => {
  await exporter.stop();
  await Promise.all(callers.map((client) => client.close()));
  await Promise.all([stage.close(), collector.close()]);
});

function spans(): readonly Span[] {
  const bodies = collector.received.map(({ body }) => JSON.parse(body) as Exported);
  const texts = (attributes: Attributes) =>
    Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue]));
  return bodies
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ resource, scopeSpans }) =>
      scopeSpans
        .flatMap((scope) => scope.spans)
        .map((span) => ({ ...span, attributes: texts(span.attributes), resource: texts(resource.attributes) })),
    );
}

const operations = (): readonly unknown[] => spans().map(({ attributes }) => attributes['holdpoint.operation_id']);
const inTrace = (traceId: string): readonly Span[] => spans().filter((span) => span.traceId === traceId);

/** The names of a trace once a span of this name is there. */
const namesOf = (traceId: string, last: string): Promise<readonly string[]> =>
  eventually(() => {
    const names = inTrace(traceId).map(({ name }) => name);
    expect(names).toContain(last);
    return [...new Set(names)].sort();
  });

async function allowed(turn: Turn): Promise<string> {
  const [request] = await stage.requests(turn);
  await stage.decide(request!, 'allow', { reason: SECRET });
  await turn.results();
  return request!.operationId;
}

/** A runtime with a Temporal client of its own, which sends nothing of a trace along unless it is told to. */
function bareRuntime({ taskQueue = stage.taskQueue, interceptors = {} }: BareOptions = {}): Promise<Holdpoint> {
  const { connection, options } = stage.holdpoint.client;
  const { namespace, dataConverter } = options;
  return connect({ client: new Client({ connection, namespace, dataConverter, interceptors }), taskQueue });
}

interface BareOptions {
  readonly taskQueue?: string;
  readonly interceptors?: ClientInterceptors;
}

const migration = (id: string) => ({
  id,
  server: 'orders-db',
  tool: 'apply_migration',
  arguments: { environment: 'production', sql: `ADD ${id} -- ${SECRET}` },
});

/** A client whose HTTP requests carry a place in a trace; of all servers where none is named. */
async function callerWith(server: string | null, traceparent: string): Promise<McpClient> {
  const client = new McpClient({ name: 'test', version: '1' });
  const url = new URL(`${stage.gateway.url}/mcp${server === null ? '' : `/${server}`}`);
  const headers = { authorization: `Bearer ${stage.token('u1')}`, traceparent };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  callers.push(client);
  return client;
}

describe('with a collector of spans', () => {
  test('a turn is one trace, from the runtime over its activities to the tool, which is told its place', async () => {
    const { traceId, turnId, operationId } = await trace
      .getTracer('runtime')
      .startActiveSpan('answer a user', async (span) => {
        const turn = await stage.start([migration('c1')]);
        span.end();
        return { traceId: span.spanContext().traceId, turnId: turn.id, operationId: await allowed(turn) };
      });
    expect(await namesOf(traceId, 'holdpoint runTool')).toEqual(
      expect.arrayContaining([
        'answer a user',
        'holdpoint openRequests',
        'holdpoint recordDecision',
        'holdpoint start turn',
      ]),
    );
    const found = inTrace(traceId);
    const ran = found.find(({ name }) => name === 'holdpoint runTool')!;
    expect(ran.resource).toMatchObject({ 'service.name': 'holdpoint-test', 'deployment.environment.name': 'test' });
    expect(ran.attributes).toMatchObject({
      'holdpoint.turn_id': turnId,
      'holdpoint.operation_id': operationId,
      'holdpoint.server': 'orders-db',
      'holdpoint.tool': 'apply_migration',
      'holdpoint.outcome': 'executed',
    });
    const call = found.find(({ name, attributes }) => {
      return name === 'mcp tools/call' && attributes['holdpoint.tool'] === 'apply_migration';
    })!;
    expect(call.parentSpanId).toBe(ran.spanId);
    expect(stage.tools.traceparents.findLast(({ tool }) => tool === 'apply_migration')).toEqual({
      tool: 'apply_migration',
      traceparent: `00-${traceId}-${call.spanId}-01`,
    });
  });

  test('a decision is a span of its reviewer, with its operation and its verdict', async () => {
    const operationId = await allowed(await stage.start([migration('c9')]));
    const decided = await eventually(() => {
      const found = spans().find(
        ({ name, attributes }) => name === 'holdpoint decide' && attributes['holdpoint.operation_id'] === operationId,
      );
      expect(found).toBeDefined();
      return found!;
    });
    expect(decided.attributes).toEqual({
      'holdpoint.operation_id': operationId,
      'holdpoint.answer': 'allow',
      'holdpoint.verdict': 'accepted',
    });
  });

  test('a turn whose runtime traces nothing is one trace all the same', async () => {
    const bare = await bareRuntime();
    const turn = await bare.startTurn({ id: 'untraced', requester: U1, calls: [migration('c2')] });
    const operationId = await allowed(turn);
    const ran = await eventually(() => {
      const found = spans().find(
        ({ name, attributes }) => name === 'holdpoint runTool' && attributes['holdpoint.operation_id'] === operationId,
      );
      expect(found).toBeDefined();
      return found!;
    });
    expect(await namesOf(ran.traceId, 'holdpoint runTool')).toEqual(
      expect.arrayContaining(['holdpoint openRequests', 'holdpoint recordDecision', 'mcp tools/call']),
    );
  });

  test.each([
    { by: 'its _meta', server: 'orders-db', tool: 'apply_migration', header: OTHER, meta: CALLER, trace: CALLER },
    { by: 'its HTTP request', server: 'orders-db', tool: 'apply_migration', header: OTHER, trace: OTHER },
    {
      by: 'its HTTP request, at the address of all servers',
      server: null,
      tool: 'orders-db__apply_migration',
      header: THIRD,
      trace: THIRD,
    },
  ])(
    'a call through the gateway belongs to the trace that $by names, until its tool has answered',
    async ({ server, tool, header, meta, trace: place }) => {
      const client = await callerWith(server, header);
      const given = { environment: 'production', sql: `ADD ${place}` };
      const said = meta === undefined ? undefined : { traceparent: meta };
      const pending = approvalOf(await called(client, tool, given, said));
      await stage.decide(await openRequest(stage, pending.operationId), 'allow');
      await collected(client, tool, given, said);
      const [, traceId = '', callerSpan] = place.split('-');
      expect(await namesOf(traceId, 'holdpoint runTool')).toEqual(
        expect.arrayContaining(['holdpoint hold call', 'holdpoint openRequests', 'mcp tools/call']),
      );
      const held = inTrace(traceId).find(({ name }) => name === 'holdpoint hold call');
      expect(held).toMatchObject({
        parentSpanId: callerSpan,
        attributes: { 'holdpoint.operation_id': pending.operationId, 'holdpoint.tool': 'apply_migration' },
      });
      expect(stage.tools.traceparents.at(-1)?.traceparent).toContain(traceId);
      // What the client itself says in `_meta` goes along, and nothing else is put there.
      expect(stage.tools.runs.at(-1)?.meta['traceparent']).toBe(meta);
    },
  );

  test('a runtime with a Temporal client of its own hands its trace on by the interceptor', async () => {
    const runtime = await bareRuntime({ interceptors: { workflow: [traceInterceptor] } });
    await underTrace({ traceparent: OWN_CLIENT }, async () =>
      allowed(await runtime.startTurn({ id: 'own-client', requester: U1, calls: [migration('c7')] })),
    );
    const [, traceId = ''] = OWN_CLIENT.split('-');
    expect(await namesOf(traceId, 'holdpoint runTool')).toContain('holdpoint recordDecision');
  });

  test('a span of a call that was refused says so, without a word of the tool', async () => {
    stage.tools.behave('apply_migration', { kind: 'error', code: -32602 }, 1);
    const operationId = await allowed(await stage.start([migration('c8')]));
    const ran = await eventually(() => {
      const found = spans().find(
        ({ name, attributes }) => name === 'holdpoint runTool' && attributes['holdpoint.operation_id'] === operationId,
      );
      expect(found?.attributes['holdpoint.outcome']).toEqual(expect.any(String));
      return found!;
    });
    expect(ran.attributes['holdpoint.outcome']).toBe('failed');
  });

  test('no span holds arguments, reasons or results', () => {
    const all = collector.received.map(({ body }) => body).join('\n');
    expect(all).toContain('holdpoint.operation_id');
    expect(all).not.toContain(SECRET);
    expect(all).not.toContain('production');
    expect(all).not.toContain('applied');
    expect(all).not.toContain('out of order');
  });

  test('one that does not answer holds up neither a call nor the end of a process', async () => {
    collector.answer(silent);
    const client = await stage.client();
    await callTool(client, 'read_rows', { table: 'orders' });
    const turn = await stage.start([migration('c3')]);
    await allowed(turn);
    const startMs = performance.now();
    await exporter.stop();
    expect(performance.now() - startMs).toBeLessThan(3_000);
    collector.answer(ok);
  });

  test('one that refuses is told in the log', async () => {
    collector.answer((response) => void response.writeHead(400).end());
    exporter = await startExporter('holdpoint-test', { env: process.env, log });
    trace.getTracer('runtime').startSpan('refused').end();
    await eventually(() =>
      expect(log.entries).toContainEqual(
        expect.objectContaining({
          ...{ level: 'warn', event: 'tracing.notExported' },
          fields: { detail: expect.stringContaining('Bad Request') as string },
        }) as object,
      ),
    );
  });

  test('the sampler and the name of the environment count: none of its own turns, but those of a sampled trace', async () => {
    await exporter.stop();
    process.env['OTEL_TRACES_SAMPLER'] = 'parentbased_always_off';
    process.env['OTEL_SERVICE_NAME'] = 'own-name';
    collector.answer(ok);
    exporter = await startExporter('holdpoint-test', { env: process.env, log });
    const runtime = await bareRuntime();
    const untaken = await allowed(await runtime.startTurn({ id: 'untaken', requester: U1, calls: [migration('c4')] }));
    const taken = await underTrace({ traceparent: SAMPLED }, async () => allowed(await stage.start([migration('c5')])));
    const ran = await eventually(() => {
      const found = spans().find(({ attributes }) => attributes['holdpoint.operation_id'] === taken);
      expect(found).toBeDefined();
      return found!;
    });
    expect(ran.resource['service.name']).toBe('own-name');
    delete process.env['OTEL_SERVICE_NAME'];
    expect(operations()).not.toContain(untaken);
  });
});

describe('a process with a collector of spans', () => {
  beforeAll(assertBuilt);

  test('a worker that is stopped hands over its last spans first', async () => {
    const { address } = stage.settings.temporal;
    const taskQueue = `traced-${randomUUID()}`;
    const env = {
      ...{ TEMPORAL_ADDRESS: address, HOLDPOINT_TASK_QUEUE: taskQueue, HOLDPOINT_LEDGER_URL: stage.ledgerUrl },
      ...{ HOLDPOINT_PERMIT_KEY_FILE: stage.settings.permitKeyFile, HOLDPOINT_HEALTH_PORT: '0' },
      ...{ HOLDPOINT_TRUST: 'namespace', OTEL_BSP_SCHEDULE_DELAY: '600000', OTEL_TRACES_SAMPLER: '' },
    };
    const worker = start(['worker'], { env });
    try {
      const runtime = await bareRuntime({ taskQueue });
      const turn = await runtime.startTurn({ id: 'of-a-process', requester: U1, calls: [migration('c6')] });
      const operationId = await allowed(turn);
      const ofWorker = () => spans().filter(({ resource }) => resource['service.name'] === 'holdpoint-worker');
      expect(ofWorker()).toEqual([]);
      worker.signal('SIGTERM');
      expect(await worker.exited).toBe(0);
      const ran = ofWorker().find(({ name }) => name === 'holdpoint runTool');
      expect(ran?.attributes).toMatchObject({ 'holdpoint.operation_id': operationId });
    } finally {
      worker.signal('SIGKILL');
    }
  }, 60_000);

  test('ends within seconds where the collector is silent, and as it would have ended', async () => {
    collector.answer(silent);
    const before = collector.received.length;
    const env = { OTEL_EXPORTER_OTLP_TIMEOUT: '60000', OTEL_TRACES_SAMPLER: '' };
    const child = startProcess('-e', [TRACED_PROGRAM, DIST], { env });
    await eventually(() => expect(child.output.stdout).toBe('ran\n'));
    const startMs = performance.now();
    expect(await child.exited).toBe(3);
    expect(performance.now() - startMs).toBeLessThan(5_000);
    expect(collector.received.length).toBeGreaterThan(before);
    collector.answer(ok);
  }, 30_000);

  test('loads nothing of the SDK where no collector is named', async () => {
    const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: '' };
    const child = startProcess('-e', [TRACED_PROGRAM, DIST], { env });
    expect(await child.exited).toBe(3);
    const loaded = child.output.stderr.trim().split('\n');
    expect(loaded).toEqual(['api']);
  }, 30_000);
});

test.each([
  { env: {}, collector: null },
  { env: { OTEL_EXPORTER_OTLP_ENDPOINT: '' }, collector: null },
  { env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'TRUE' }, collector: null },
  { env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_TRACES_EXPORTER: 'none' }, collector: null },
  {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_TRACES_EXPORTER: 'console, otlp' },
    collector: 'http://c:4318',
  },
  {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://d/v1/traces' },
    collector: 'http://d/v1/traces',
  },
])('with $env spans go to $collector', ({ env, collector: expected }) => {
  expect(collectorOf(env)).toBe(expected);
});
