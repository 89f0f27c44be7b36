import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { told } from './told.mjs';

await told('MCP SDK v1', async ({ url, token, tool, given }) => {
  const client = new Client({ name: 'v1', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  await client.listTools();
  const answer = await client.callTool({ name: tool, arguments: given });
  await client.close();
  return answer;
});
