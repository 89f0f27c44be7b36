import { MCPServerStreamableHttp } from '@openai/agents';
import { told } from './told.mjs';

/** The model sees the text of a result. */
await told('OpenAI Agents JS, text', async ({ url, token, tool, given }) => {
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const server = new MCPServerStreamableHttp({ url, useStructuredContent: false, requestInit });
  await server.connect();
  try {
    await server.listTools();
    return await server.callTool(tool, given);
  } finally {
    await server.close();
  }
});
