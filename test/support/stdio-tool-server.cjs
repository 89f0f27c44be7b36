'use strict';

// A real MCP server on stdio whose tools do as they are named. It counts its calls in the file named by the variable
// CALLS, because it may not live to tell.
const { appendFileSync } = require('node:fs');
const { McpServer } = require('@modelcontextprotocol/sdk/server/mcp.js');
const { StdioServerTransport } = require('@modelcontextprotocol/sdk/server/stdio.js');

const server = new McpServer({ name: 'stdio', version: '1' });
const text = (value) => ({ content: [{ type: 'text', text: value }] });

function tool(name, run) {
  server.registerTool(name, {}, async (extra) => {
    if (process.env.CALLS) appendFileSync(process.env.CALLS, `${name}\n`);
    return run(extra);
  });
}

tool('pid', () => text(String(process.pid)));
tool('variable', () => text(process.env.GIVEN ?? 'not given'));
tool('die', () => {
  process.stderr.write('the disk is full\n');
  process.exit(3);
});
tool('hang', () => new Promise(() => undefined));
tool('big', () => text('é'.repeat(2_621_440)));
tool('too_big', () => text('x'.repeat(34_000_000)));
tool('chatty', () => {
  process.stdout.write('working on it…\n{"level":30,"msg":"a log line"}\n');
  return text('done');
});
tool('ask', async () => {
  const asked = await server.server
    .request({ method: 'sampling/createMessage', params: {} }, { parse: (value) => value })
    .catch((error) => error.message);
  return text(String(asked));
});

if (process.argv.includes('--broken')) {
  process.stderr.write('no database given\n');
  process.exit(1);
}
void server.connect(new StdioServerTransport());
