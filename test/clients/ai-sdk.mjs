import { createMCPClient } from '@ai-sdk/mcp';
import { told } from './told.mjs';

await told('Vercel AI SDK', async ({ url, token, tool, given }) => {
  const headers = { Authorization: `Bearer ${token}` };
  const client = await createMCPClient({ transport: { type: 'http', url, headers } });
  try {
    const tools = await client.tools();
    const one = tools[tool];
    const output = await one.execute(given, { messages: [], toolCallId: '1' });
    return one.toModelOutput ? await one.toModelOutput({ output, input: given, toolCallId: '1' }) : output;
  } finally {
    await client.close();
  }
});
