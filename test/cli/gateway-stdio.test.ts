import { tmpdir } from 'node:os';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { listRequests } from '../../ledger/queries';
import { assertBuilt, bareEnvironment, CLI, run } from '../support/cli';
import { eventually } from '../support/eventually';
import { approvalOf, callTool, startGatewayStage, type GatewayStage } from '../support/gateway-stage';

beforeAll(assertBuilt);

const TOKEN = `hp_${'a'.repeat(43)}`;

describe('holdpoint gateway stdio', () => {
  test.each([
    { name: 'no token', env: {}, args: ['orders-db'], says: 'HOLDPOINT_GATEWAY_TOKEN is not set' },
    { name: 'an odd token', env: { HOLDPOINT_GATEWAY_TOKEN: 'a b' }, args: ['orders-db'], says: 'what no token holds' },
    {
      name: 'an odd server',
      env: { HOLDPOINT_GATEWAY_TOKEN: TOKEN },
      args: ['a/b'],
      says: 'a/b is no name of a server',
    },
    {
      name: 'the address of something else',
      env: { HOLDPOINT_GATEWAY_TOKEN: TOKEN },
      args: ['orders-db', '--url', 'http://127.0.0.1:1/mcp/other'],
      says: '--url is the origin of the gateway, such as http://127.0.0.1:8484, not http://127.0.0.1:1/mcp/other',
    },
  ])('with $name connects nothing, says so on stderr, and ends with 1', async ({ env, args, says }) => {
    const { code, stdout, stderr } = await run(['gateway', 'stdio', ...args], { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(says);
    expect(stderr).toContain('Nothing was connected.');
    expect(stderr).not.toContain('a b');
  });

  test('never repeats a password that stands in an address', async () => {
    const args = ['gateway', 'stdio', 'orders-db', '--url', 'http://u:hunter2@127.0.0.1:1'];
    const { code, stderr } = await run(args, { env: { HOLDPOINT_GATEWAY_TOKEN: TOKEN } });
    expect({ code, says: stderr.includes('hunter2') }).toEqual({ code: 1, says: false });
  });

  describe('with a gateway', () => {
    let stage: GatewayStage;
    beforeAll(async () => {
      stage = await startGatewayStage();
    });
    afterAll(() => stage.close());

    test('without a server gives all of them, their tools under the names of both', async () => {
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [CLI, 'gateway', 'stdio', '--url', stage.gateway.url],
        env: { ...environment(), HOLDPOINT_GATEWAY_TOKEN: stage.token('u1') },
        stderr: 'ignore',
      });
      const client = new Client({ name: 'test', version: '1' });
      await client.connect(transport);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain('orders-db__apply_migration');
      await client.close();
    });

    test('gives a client that starts a command the same tools and the same approvals', async () => {
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [CLI, 'gateway', 'stdio', 'orders-db', '--url', stage.gateway.url],
        env: { ...environment(), HOLDPOINT_GATEWAY_TOKEN: stage.token('u1') },
        cwd: tmpdir(),
        stderr: 'pipe',
      });
      const said = { stderr: '' };
      transport.stderr?.on('data', (chunk: Buffer) => (said.stderr += chunk.toString()));
      const client = new Client({ name: 'test', version: '1' });
      // A line that is no message of MCP would end in onerror.
      const faults: Error[] = [];
      client.onerror = (error) => faults.push(error);
      await client.connect(transport);
      try {
        expect((await client.listTools()).tools.map(({ name }) => name)).toContain('apply_migration');
        const migration = { environment: 'production', sql: 'ADD stdio' };
        const { operationId, status } = approvalOf(await callTool(client, 'apply_migration', migration));
        expect(status).toBe('pending');
        const open = await eventually(async () => {
          const requests = await listRequests(stage.store.db);
          const found = requests.find(({ request }) => request.operationId === operationId);
          if (found === undefined) throw new Error(`${operationId} is not open`);
          return found;
        });
        await stage.decide(open.request, 'allow');
        const done = await callTool(client, 'apply_migration', migration);
        expect(approvalOf(done)).toMatchObject({ status: 'approved', operationId });
      } finally {
        await client.close();
      }
      expect({ faults, said }).toEqual({ faults: [], said: { stderr: '' } });
    });
  });
});

function environment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(bareEnvironment()).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
