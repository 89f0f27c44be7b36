import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { pendingApproval } from '../../client';
import type { ApprovalRequest } from '../../core/request';
import { listRequests } from '../../ledger/queries';
import { eventually } from './eventually';
import { RawClient } from './gateway-stdio-client';
import { callTool, type ClientOptions, type GatewayStage } from './gateway-stage';
import type { TestToolServer } from './tool-server';

/** The arguments of a migration in production, whose `sql` tells one test's call from another's. */
export const migration = (sql: string) => ({ environment: 'production', sql });

/** How often a statement took effect at the tool itself. */
export function effectsOf(tools: TestToolServer, sql: string): number {
  return tools.runs.filter(({ arguments: given }) => given['sql'] === sql).length;
}

export async function openRequests({ store }: Pick<GatewayStage, 'store'>): Promise<readonly ApprovalRequest[]> {
  return (await listRequests(store.db)).map(({ request }) => request);
}

/** The open request of that operation, or of the call with that `sql`. */
export function openRequest(stage: Pick<GatewayStage, 'store'>, operationOrSql: string): Promise<ApprovalRequest> {
  return eventually(async () => {
    const open = await openRequests(stage);
    const found = open.find(
      ({ operationId, arguments: given }) => operationId === operationOrSql || given['sql'] === operationOrSql,
    );
    if (found === undefined) throw new Error(`${operationOrSql} is not among ${open.length} open requests`);
    return found;
  });
}

/** Makes a call until it is on record: a busy machine may take longer for that than a client waits. */
export function called(client: Client, ...call: CallOf<typeof callTool>): Promise<CallToolResult> {
  return eventually(async () => {
    const result = await callTool(client, ...call);
    const waiting = pendingApproval(result);
    if (waiting?.status === 'pending' && waiting.revision === null) throw new Error(JSON.stringify(result));
    return result;
  }, 30_000);
}

/** Makes an allowed call until it has run, as its client is told to: a busy machine may take longer than a client waits. */
export function collected(client: Client, ...call: CallOf<typeof callTool>): Promise<CallToolResult> {
  return eventually(async () => {
    const result = await callTool(client, ...call);
    if (pendingApproval(result) !== null) throw new Error(JSON.stringify(result));
    return result;
  }, 30_000);
}

type CallOf<F> = F extends (client: Client, ...rest: infer Rest) => unknown ? Rest : never;

/** What a refusal must leave as it was: requests, operations, records of the audit, and effects at the tool. */
export async function traces({ store, tools }: Pick<GatewayStage, 'store' | 'tools'>): Promise<readonly number[]> {
  const rows = (table: 'requests' | 'operations' | 'audit' | 'gateway_calls') =>
    store.db.selectFrom(table).selectAll().execute();
  const counts = await Promise.all([rows('requests'), rows('operations'), rows('gateway_calls'), rows('audit')]);
  return [...counts.map(({ length }) => length), tools.runs.length];
}

export interface RawOptions extends ClientOptions {
  readonly capabilities?: string;
  readonly version?: string;
  /** True: no session is opened. */
  readonly bare?: boolean;
}

/** A client of bare texts, with a token and a session of its own. */
export async function rawClient(stage: GatewayStage, options: RawOptions = {}): Promise<RawClient> {
  const { server = 'orders-db', subject = 'u1', agent = 'bot', chain = [], gateway = stage.gateway } = options;
  const headers = { Authorization: `Bearer ${stage.token(subject, agent, chain)}` };
  const client = new RawClient(new URL(`${gateway.url}/mcp/${server}`), { headers });
  if (options.bare !== true) await client.initialise(options.capabilities, options.version);
  return client;
}

/** The JSON values of the messages of an answer, once it has ended. */
export async function parsed(
  answer: Promise<{ readonly messages: readonly string[]; readonly ended: Promise<void> }>,
): Promise<readonly Record<string, never>[]> {
  const { messages, ended } = await answer;
  await ended;
  return messages.map((text) => JSON.parse(text) as Record<string, never>);
}

/** A call under way. */
export interface CutCall {
  /** Cuts its connection. */
  leave(): void;
  /** What came back so far, if it was answered all the same. */
  answered(): string | undefined;
}

/** Sends a call whose connection can be cut, and does not wait for its answer. */
export async function callToCut(stage: GatewayStage, body: string, options: RawOptions = {}): Promise<CutCall> {
  const { server = 'orders-db', gateway = stage.gateway } = options;
  const authorization = `Bearer ${stage.token(options.subject ?? 'u1')}`;
  const url = new URL(`${gateway.url}/mcp/${server}`);
  const client = new RawClient(url, { headers: { Authorization: authorization } });
  await client.initialise(options.capabilities, options.version);
  const connection = new AbortController();
  const headers = {
    authorization,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-session-id': client.session ?? '',
  };
  let answered: string | undefined;
  fetch(url, { method: 'POST', headers, body, signal: connection.signal })
    .then(async (response) => (answered = await response.text()))
    .catch(() => undefined);
  return { leave: () => connection.abort(), answered: () => answered };
}

/** The text of a tools/call. */
export function callText(
  id: number | string,
  name: string,
  given: unknown,
  more: Record<string, unknown> = {},
): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: given, ...more } });
}
