import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { parsePolicyFile } from '../../core/policy-file';
import { listRequests } from '../../ledger/queries';
import { eventually } from '../support/eventually';
import { approvalOf, callTool, startGatewayStage, textOf, type GatewayStage } from '../support/gateway-stage';

const PROGRAM = require.resolve('@modelcontextprotocol/server-filesystem/dist/index.js');

describe('the real filesystem server, whose roots are the client’s own', () => {
  let stage: GatewayStage;
  let folder: string;
  const clients: Client[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'holdpoint-roots-'));
    for (const name of ['started-with', 'of-the-client']) mkdirSync(join(folder, name));
    stage = await startGatewayStage({ waitForMs: 2_000 });
    const text = policyOf(join(folder, 'started-with'));
    const parsed = parsePolicyFile(text, 'policy.yaml');
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    await stage.ledger.applyPolicy({ text, fileName: 'policy.yaml', policy: parsed.policy, by: 'test' });
  }, 60_000);
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await stage.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function policyOf(startedWith: string): string {
    return `trust: namespace
people:
  r1: { groups: [dba] }
servers:
  files:
    stdio: { command: ${JSON.stringify(process.execPath)}, args: ${JSON.stringify([PROGRAM, startedWith])} }
    session: client
    tools:
      write_file: { material: { path: { at: /path, as: text } } }
access:
  - { subjects: ['*'], agents: ['*'], server: files, tools: ['*'] }
rules:
  - { id: writes, server: files, scope: { tools: [write_file] }, approvers: { groups: [dba] }, deadline: { after: 30m, then: expire } }
`;
  }

  /** A client with one root of its own, which replaces what the server was started with. */
  async function clientOf(root: string): Promise<Client> {
    const client = new Client({ name: 'rooted', version: '1' }, { capabilities: { roots: {} } });
    const asked = new Promise<void>((resolve) => {
      client.setRequestHandler(ListRootsRequestSchema, () => {
        resolve();
        return { roots: [{ uri: pathToFileURL(root).href, name: 'own' }] };
      });
    });
    const headers = { authorization: `Bearer ${stage.token('u1')}` };
    const url = new URL(`${stage.gateway.url}/mcp/files`);
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    clients.push(client);
    await asked;
    return client;
  }

  const firstOpen = () =>
    eventually(async () => {
      const [record] = await listRequests(stage.store.db);
      if (record === undefined) throw new Error('nothing is open');
      return record;
    });

  test('an approved call runs on that client’s session, where another session would be refused', async () => {
    const root = join(folder, 'of-the-client');
    const client = await clientOf(root);
    const write = { path: join(root, 'note.txt'), content: 'written once' };
    const pending = approvalOf(await callTool(client, 'write_file', write));
    expect(pending.status).toBe('pending');
    const record = await firstOpen();
    expect(record.request.context?.session).toEqual({
      kind: 'client',
      roots: [{ uri: pathToFileURL(root).href, name: 'own' }],
    });
    await stage.decide(record.request, 'allow');
    expect(approvalOf(await callTool(client, 'write_file', write)).status).toBe('approved');
    expect(readFileSync(join(root, 'note.txt'), 'utf8')).toBe('written once');
  }, 30_000);

  test('and what the server was started with is out of its reach, whoever approves', async () => {
    const client = await clientOf(join(folder, 'of-the-client'));
    const path = join(folder, 'started-with', 'note.txt');
    await callTool(client, 'write_file', { path, content: 'no' });
    const record = await firstOpen();
    await stage.decide(record.request, 'allow');
    const answer = await callTool(client, 'write_file', { path, content: 'no' });
    expect(answer.isError).toBe(true);
    expect(textOf(answer)).toMatch(/access denied/i);
    expect(() => readFileSync(path)).toThrow(/ENOENT/);
  }, 30_000);
});
