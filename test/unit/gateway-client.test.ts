import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Client as NewClient, InMemoryTransport as NewTransport } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { pendingApproval } from '../../client/pending-approval';
import type { JsonObject } from '../../core/json';
import { endAnswer } from '../../gateway/answers/end-answer';
import { allowedAnswer, pendingAnswer, runningAnswer } from '../../gateway/answers/pending-answer';
import { showList } from '../../gateway/lists/show-list';
import { pendingState } from '../support/approval-request';
import { OUTPUT_SCHEMAS, UNUSABLE_SCHEMAS } from '../support/output-schemas';

const inputSchema = { type: 'object' };
const call = {
  operationId: 'op_8f14e45f',
  revision: 1,
  digest: 'sha256:b1',
  rule: { id: 'production-migrations', version: 'v1' },
  reviewUrl: null,
  hasOutputSchema: true,
};
const ended = { ...call, delivered: false, replayEndsAtMs: null };
const executed = { outcome: 'executed', evidence: 'lookUp', result: null, approval: null } as const;
const pending = pendingAnswer({ state: pendingState(), retryAfterMs: 5_000, reviewUrl: null, hasOutputSchema: true });

/** What the two major versions of the SDK have in common. */
interface Agent {
  close(): Promise<void>;
  connect(transport: Transport): Promise<void>;
  listTools(): Promise<{ tools: { name: string; outputSchema?: unknown }[] }>;
  callTool(call: { name: string }): Promise<object>;
}

let client: Agent;
afterEach(() => client.close());

const versions: Readonly<Record<string, { client: () => Agent; pair: () => [Transport, Transport] }>> = {
  'a client of the SDK': {
    client: () => new Client({ name: 'agent', version: '1' }) as unknown as Agent,
    pair: () => InMemoryTransport.createLinkedPair(),
  },
  'a client of the second SDK': {
    client: () => new NewClient({ name: 'agent', version: '1' }) as unknown as Agent,
    pair: () => NewTransport.createLinkedPair() as unknown as [Transport, Transport],
  },
};
let version = versions['a client of the SDK']!;

/** A client that has listed `tools` as Holdpoint shows them, and is answered `result` whatever it calls. */
async function listing(tools: readonly object[], result: object = {}): Promise<Agent> {
  const { server } = new McpServer({ name: 'orders-db', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }) as never);
  server.setRequestHandler(CallToolRequestSchema, () => result as never);
  const [ours, theirs] = version.pair();
  await server.connect(shown(theirs));
  const agent = version.client();
  client = agent;
  await agent.connect(ours);
  await agent.listTools();
  return agent;
}

/** The server's end of a connection, on which its lists pass through `showList`. */
function shown(transport: Transport): Transport {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const text = showList(JSON.stringify(message), () => ({ gated: true, hidden: ['operation_id'] }));
    return send(JSON.parse(text) as typeof message, options);
  };
  return transport;
}

const answered = async (outputSchema: object, result: object): Promise<object> =>
  (await listing([{ name: 'act', inputSchema, outputSchema }], result)).callTool({ name: 'act' });

describe.each(Object.keys(versions))('%s that has listed a gated tool', (name) => {
  beforeEach(() => void (version = versions[name]!));

  it.each(OUTPUT_SCHEMAS)('takes every answer that is none of the tool, $name [GATE-11]', async ({ schema }) => {
    const answers: JsonObject[] = [
      pending,
      runningAnswer(call, 1_000),
      allowedAnswer(call, 0),
      endAnswer({ ...ended, end: executed }),
      endAnswer({ ...ended, end: { outcome: 'denied', reason: null, deciders: [] } }),
      endAnswer({ ...ended, end: { outcome: 'unknown', detail: '', approval: null } }),
    ];
    for (const answer of answers) expect(await answered(schema, answer)).toEqual(answer);
  });

  it.each(OUTPUT_SCHEMAS)('takes real results, $name [LIST-3]', async ({ schema, right }) => {
    for (const structuredContent of right) {
      const result = { content: [], structuredContent };
      expect(await answered(schema, result)).toEqual(result);
    }
  });

  it.each(OUTPUT_SCHEMAS)('refuses results that break the original schema, $name [GATE-11]', async (each) => {
    for (const structuredContent of each.wrong) {
      await expect(answered(each.schema, { content: [], structuredContent })).rejects.toMatchObject({ code: -32602 });
    }
  });

  it('takes a result that it was given before, with the text that says so [LIST-3]', async () => {
    const value = { content: [], structuredContent: { rows: 1 } };
    const result = { kind: 'inline', value, isError: false, digest: 'd', bytes: 9 } as const;
    const answer = endAnswer({ ...ended, delivered: true, end: { ...executed, evidence: 'answer', result } });
    expect(await answered(OUTPUT_SCHEMAS[0]!.schema, answer)).toMatchObject({
      structuredContent: { rows: 1 },
      content: [{ text: expect.stringMatching(/^NOT RUN AGAIN/) as string }],
    });
  });

  it('finds by pendingApproval that it waits [GATE-10] [GATE-11]', async () => {
    const found = { status: 'pending', operationId: 'op_8f14e45f', retryAfterMs: 5_000 };
    expect(pendingApproval(await answered(OUTPUT_SCHEMAS[0]!.schema, pending))).toMatchObject(found);
    const plain = pendingAnswer({
      state: pendingState(),
      retryAfterMs: 5_000,
      reviewUrl: null,
      hasOutputSchema: false,
    });
    const agent = await listing([{ name: 'act', inputSchema }], plain);
    expect(pendingApproval(await agent.callTool({ name: 'act' }))).toMatchObject(found);
  });

  it.each(UNUSABLE_SCHEMAS)('lists all tools, though one has $name as its schema [LIST-7]', async ({ schema }) => {
    const good = { name: 'good', inputSchema, outputSchema: OUTPUT_SCHEMAS[0]!.schema };
    const agent = await listing([good, { name: 'bad', inputSchema, outputSchema: schema }], pending);
    const { tools } = await agent.listTools();
    expect(tools.map(({ name, outputSchema }) => [name, outputSchema !== undefined])).toEqual([
      ['good', true],
      ['bad', false],
    ]);
    expect(await agent.callTool({ name: 'bad' })).toEqual(pending);
  });

  it('is offered no argument that Holdpoint fills in, and everything else as it was listed [LIST-5] [SWAP-18]', async () => {
    const tool = {
      name: 'act',
      title: 'Act',
      description: 'Acts',
      annotations: { readOnlyHint: false, destructiveHint: true },
      _meta: { 'vendor.example/x': 1 },
    };
    const a = { type: 'string' };
    const agent = await listing([
      {
        ...tool,
        inputSchema: { type: 'object', properties: { operation_id: {}, a }, required: ['a', 'operation_id'] },
      },
      { name: 'bare', inputSchema },
    ]);
    expect((await agent.listTools()).tools).toEqual([
      { ...tool, inputSchema: { type: 'object', properties: { a }, required: ['a'] } },
      { name: 'bare', inputSchema },
    ]);
  });
});
