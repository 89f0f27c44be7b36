import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, type CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import pino from 'pino';
import { savePermitKey } from '../../activities/permit-key';
import { newToken } from '../../gateway/edge/new-token';
import type { EdgeSettings } from '../../gateway/edge/settings';
import { startGateway, type RunningGateway } from '../../gateway/start-gateway';
import type { Log } from '../../ledger/log';
import type { WorkerSettings } from '../../worker/worker-settings';
import { memberOf } from '../../core/member';
import { startHarness, type Harness, type HarnessOptions } from './harness';

export interface GatewayStageOptions extends HarnessOptions {
  /** How long a protected call waits before the pending answer; 800 ms by default. */
  readonly waitForMs?: number;
  /** Of every gateway of the stage. */
  readonly edge?: Partial<EdgeSettings>;
}

/** What a gateway says of a call, under its key in `_meta`. */
export interface Approval {
  readonly status: string;
  readonly operationId: string;
  readonly revision: number | null;
  readonly [name: string]: unknown;
}

/** A harness with gateways in front of it. */
export interface GatewayStage extends Harness {
  readonly ledgerUrl: string;
  readonly settings: WorkerSettings;
  readonly gateway: RunningGateway;
  /** Another gateway in front of the same Temporal and ledger. */
  anotherGateway(edge?: Partial<EdgeSettings>, more?: MoreOfGateway): Promise<RunningGateway>;
  token(subject: string, agent?: string, chain?: readonly string[]): string;
  /** A real MCP client of a server, u1 through bot unless stated; closed with the stage. */
  client(options?: ClientOptions): Promise<Client>;
}

export interface MoreOfGateway {
  readonly settings?: Partial<WorkerSettings>;
  readonly log?: Log;
}

export interface ClientOptions {
  readonly server?: string;
  readonly subject?: string;
  readonly agent?: string;
  readonly chain?: readonly string[];
  readonly gateway?: RunningGateway;
  readonly name?: string;
}

export async function startGatewayStage(options: GatewayStageOptions = {}): Promise<GatewayStage> {
  const folder = await mkdtemp(join(tmpdir(), 'holdpoint-gateway-'));
  const ledgerUrl = options.ledgerUrl ?? pathToFileURL(join(folder, 'ledger.db')).href;
  const harness = await startHarness({ ...options, ledgerUrl });
  const tokensFile = join(folder, 'tokens.json');
  const permitKeyFile = join(folder, 'permit.pem');
  await savePermitKey(permitKeyFile, harness.deps.permitKey);
  const settings: WorkerSettings = {
    temporal: {
      address: options.address ?? process.env['HOLDPOINT_TEST_TEMPORAL'] ?? '',
      namespace: 'default',
      options: {},
    },
    taskQueue: harness.taskQueue,
    ledgerUrl,
    permitKeyFile,
    secretsKey: harness.deps.secretsKey,
    payloadKey: undefined,
    webhooks: [],
    health: { port: 0, host: '127.0.0.1' },
    defaultTrust: options.defaultTrust ?? 'namespace',
  };
  const token = (subject: string, agent = 'bot', chain: readonly string[] = []): string => {
    const made = newToken(tokensFile, { subject, agent, chain });
    if (!made.ok) throw new Error(made.detail);
    return made.token;
  };
  token('u1');
  const edge: EdgeSettings = {
    host: '127.0.0.1',
    port: 0,
    publicUrl: null,
    hosts: [],
    origins: [],
    tokensFile,
    oauth: null,
    messagesPerMinute: 100_000,
    waitForMs: options.waitForMs ?? 800,
    sessionIdleMs: 60_000,
    sessionsPerRequester: 50,
    ...options.edge,
  };
  const gateways: RunningGateway[] = [];
  const clients: Client[] = [];
  const anotherGateway: GatewayStage['anotherGateway'] = async (changes = {}, more = {}) => {
    const { log = pino({ level: process.env['HOLDPOINT_TEST_LOG'] ?? 'silent' }) } = more;
    const started = await startGateway({
      settings: { ...settings, ...more.settings },
      edge: { ...edge, ...changes },
      env: process.env,
      log,
    });
    if (!started.ok) throw new Error(started.detail);
    gateways.push(started.gateway);
    return started.gateway;
  };
  const gateway = await anotherGateway();
  return {
    ...harness,
    ledgerUrl,
    settings,
    gateway,
    anotherGateway,
    token,
    client: async ({
      server = 'orders-db',
      subject = 'u1',
      agent = 'bot',
      chain = [],
      name = 'test',
      ...more
    } = {}) => {
      const client = new Client({ name, version: '1' });
      const url = new URL(`${(more.gateway ?? gateway).url}/mcp/${server}`);
      const headers = { authorization: `Bearer ${token(subject, agent, chain)}` };
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
      clients.push(client);
      return client;
    },
    close: async () => {
      await Promise.all(clients.map((client) => client.close()));
      await Promise.all(gateways.map((each) => each.stop()));
      await harness.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** One call of a tool; `_meta` may carry whatever a client sends there. */
export async function callTool(
  client: Client,
  tool: string,
  given: Readonly<Record<string, unknown>>,
  meta?: Record<string, unknown>,
): Promise<CallToolResult> {
  const params = { name: tool, arguments: given, ...(meta !== undefined && { _meta: meta }) };
  return client.request({ method: 'tools/call', params }, CallToolResultSchema);
}

export function approvalOf(result: CallToolResult): Approval {
  const approval = memberOf(result._meta, 'dev.holdpoint/approval');
  if (typeof approval !== 'object' || approval === null) throw new Error(`no approval in ${JSON.stringify(result)}`);
  return approval as Approval;
}

export function textOf(result: CallToolResult): string {
  return result.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
}
