import { dirname, join } from 'node:path';
import { Client, type ClientOptions as SdkOptions } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { RunningGateway } from '../../gateway/start-gateway';
import { applyPolicyText } from '../support/gateway-policy';
import { startGatewayStage, type GatewayStage, type GatewayStageOptions } from '../support/gateway-stage';
import { RawClient } from '../support/gateway-stdio-client';

/** The YAML of servers by their names, as flow mappings. */
export type Servers = Readonly<Record<string, string>>;

export interface AllPolicy {
  readonly servers: Servers;
  /** YAML lines; everybody in `platform` may use every server, by default. */
  readonly access?: string;
  /** YAML lines; none by default. */
  readonly rules?: string;
}

export interface AllClient {
  readonly subject?: string;
  readonly gateway?: RunningGateway;
  readonly options?: SdkOptions;
  /** Called before it connects. */
  readonly prepare?: (client: Client) => void;
}

/** A gateway stage whose clients use `/mcp`. */
export interface AggregateStage extends GatewayStage {
  apply(policy: AllPolicy): Promise<number>;
  /** A real MCP client of `/mcp`, u1 unless stated; closed with the stage. */
  all(how?: AllClient): Promise<Client>;
  /** A client of bare texts at `/mcp`, with a session unless `bare`. */
  raw(how?: { readonly subject?: string; readonly capabilities?: string; readonly bare?: boolean }): Promise<RawClient>;
}

const PEOPLE = `  r1: { groups: [dba] }
  u1: { groups: [platform] }
  u2: { groups: [platform] }
  stranger: { groups: [] }`;

export async function startAggregateStage(options: GatewayStageOptions = {}): Promise<AggregateStage> {
  const stage = await startGatewayStage(options);
  const clients: Client[] = [];
  const addressOf = (gateway: RunningGateway = stage.gateway) => new URL(`${gateway.url}/mcp`);
  return {
    ...stage,
    apply: (policy) => applyPolicyText(stage, policyText(policy)),
    all: async ({ subject = 'u1', gateway, options: sdk, prepare } = {}) => {
      const client = new Client({ name: 'test', version: '1' }, sdk);
      prepare?.(client);
      const headers = { authorization: `Bearer ${stage.token(subject)}` };
      await client.connect(
        new StreamableHTTPClientTransport(addressOf(gateway), { requestInit: { headers } }) as never,
      );
      clients.push(client);
      return client;
    },
    raw: async ({ subject = 'u1', capabilities, bare } = {}) => {
      const headers = { Authorization: `Bearer ${stage.token(subject)}` };
      const client = new RawClient(addressOf(), { headers });
      if (bare !== true) await client.initialise(capabilities);
      return client;
    },
    close: async () => {
      await Promise.all(clients.map((client) => client.close()));
      await stage.close();
    },
  };
}

function policyText({ servers, access, rules }: AllPolicy): string {
  const names = Object.keys(servers);
  const all = names.map((name) => `  - { subjects: ['group:platform'], agents: ['*'], server: ${name}, tools: ['*'] }`);
  return `trust: namespace
people:
${PEOPLE}
servers:
${Object.entries(servers)
  .map(([name, yaml]) => `  ${name}: ${yaml}`)
  .join('\n')}
access:
${access ?? all.join('\n')}
rules:${rules === undefined ? ' []' : `\n${rules}`}
`;
}

/** A server on HTTP. */
export const http = (url: string, more = '') => `{ http: { url: '${url}' }, session: independent${more} }`;

/** A server that is a Node process. */
export const node = (args: readonly string[], more = '') =>
  `{ stdio: { command: ${JSON.stringify(process.execPath)}, args: ${JSON.stringify(args)} }${more} }`;

const packageOf = (name: string) => dirname(require.resolve(`@modelcontextprotocol/server-${name}/package.json`));

/** The program of one of the servers that MCP itself gives out. */
export const program = (name: 'everything' | 'memory' | 'filesystem') => join(packageOf(name), 'dist/index.js');

/** How a scripted server is and behaves. */
export interface Scripted {
  readonly label?: string;
  readonly lists?: Readonly<Record<string, readonly (readonly unknown[])[]>>;
  readonly capabilities?: Readonly<Record<string, unknown>>;
  readonly instructions?: string;
  readonly version?: string;
  /** It ends at once where this file is not there. */
  readonly startIf?: string;
  /** Methods that it never answers. */
  readonly silent?: readonly string[];
  /** Methods that it answers with an error. */
  readonly broken?: readonly string[];
  /** What the URIs begin with that it has but does not list. */
  readonly hidden?: string;
  /** The file in which it keeps each line that it reads. */
  readonly lines?: string;
}

/** A server that is as it is told to be. */
export function scripted({ lines, ...setting }: Scripted, more = ''): string {
  const args = JSON.stringify([join(__dirname, '../support/gateway-aggregate-server.cjs'), JSON.stringify(setting)]);
  const env = lines === undefined ? '{}' : `{ LINES: ${JSON.stringify(lines)} }`;
  return `{ stdio: { command: ${JSON.stringify(process.execPath)}, args: ${args}, env: ${env} }${more} }`;
}
