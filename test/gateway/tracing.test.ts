import { trace } from '@opentelemetry/api';
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client } from '@temporalio/client';
import { connect } from '../../client';
import type { Holdpoint, Turn } from '../../client';
import { isExporting, startExporter, type SpanExport } from '../../tracing/exporter';
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
}

interface Exported {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<Span, 'attributes'> & {
        readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[];
      })[];
    }[];
  }[];
}

const SECRET = 'hunter2-4711';
const CALLER = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const OTHER = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const THIRD = '00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01';

let stage: GatewayStage;
let collector: WebhookReceiver;
const callers: McpClient[] = [];
let log: RecordedLog;
let exporter: SpanExport;
beforeAll(async () => {
  [stage, collector] = await Promise.all([startGatewayStage(), startReceiver()]);
  process.env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] = collector.url;
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
  const all = bodies.flatMap(({ resourceSpans }) => resourceSpans.flatMap(({ scopeSpans }) => scopeSpans));
  return all.flatMap((scope) =>
    scope.spans.map((span) => ({
      ...span,
      attributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, value.stringValue])),
    })),
  );
}

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
    const { traceId, operationId } = await trace.getTracer('runtime').startActiveSpan('answer a user', async (span) => {
      const turn = await stage.start([migration('c1')]);
      span.end();
      return { traceId: span.spanContext().traceId, operationId: await allowed(turn) };
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
    expect(ran.attributes).toMatchObject({
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

  test('a turn whose runtime traces nothing is one trace all the same', async () => {
    const { connection, options } = stage.holdpoint.client;
    const bare: Holdpoint = await connect({
      client: new Client({ connection, namespace: options.namespace, dataConverter: options.dataConverter }),
      taskQueue: stage.taskQueue,
    });
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

  test('no span holds arguments, reasons or results', () => {
    const all = collector.received.map(({ body }) => body).join('\n');
    expect(all).toContain('holdpoint.operation_id');
    expect(all).not.toContain(SECRET);
    expect(all).not.toContain('production');
    expect(all).not.toContain('applied');
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
        expect.objectContaining({ level: 'warn', event: 'tracing.notExported' }) as object,
      ),
    );
  });
});

test('without a collector nothing is exported', () => {
  expect(isExporting({})).toBe(false);
  expect(isExporting({ OTEL_EXPORTER_OTLP_ENDPOINT: '' })).toBe(false);
  expect(isExporting({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', OTEL_SDK_DISABLED: 'true' })).toBe(false);
  expect(isExporting({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' })).toBe(true);
});
