import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { told } from './told.mjs';

await told('LangChain MCP adapters JS', async ({ url, token, tool, given }) => {
  const headers = { authorization: `Bearer ${token}` };
  const client = new MultiServerMCPClient({ mcpServers: { gateway: { transport: 'http', url, headers } } });
  try {
    const tools = await client.getTools();
    return await tools.find(({ name }) => name === tool).invoke(given);
  } finally {
    await client.close();
  }
});
