import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { told } from './told.mjs';

await told('MCP SDK v2', async ({ url, token, tool, given }) => {
  const client = new Client({ name: 'v2', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  await client.listTools();
  const answer = await client.callTool({ name: tool, arguments: given });
  await client.close();
  return answer;
});
