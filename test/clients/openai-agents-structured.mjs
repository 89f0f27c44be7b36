import { MCPServerStreamableHttp } from '@openai/agents';
import { told } from './told.mjs';

/** The model sees structured content alone, where there is some. */
await told('OpenAI Agents JS, structured content', async ({ url, token, tool, given }) => {
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const server = new MCPServerStreamableHttp({ url, useStructuredContent: true, requestInit });
  await server.connect();
  try {
    await server.listTools();
    return await server.callTool(tool, given);
  } finally {
    await server.close();
  }
});
