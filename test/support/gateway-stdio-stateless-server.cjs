'use strict';

// A server of the v2 SDK on stdio, which speaks 2026-07-28 and the revisions before it. Tools do as they are named;
// each line that it reads is kept in the file that LINES names.
const { appendFileSync } = require('node:fs');
const { McpServer } = require('@modelcontextprotocol/server');
const { serveStdio } = require('@modelcontextprotocol/server/stdio');
const { z } = require('zod');

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const held = new Set();

process.stdin.on('data', (chunk) => {
  if (process.env.LINES) appendFileSync(process.env.LINES, chunk);
});

serveStdio(() => {
  const server = new McpServer({ name: 'stateless', version: '1' }, { capabilities: { logging: {} } });
  const tool = (name, run) => server.registerTool(name, { inputSchema: z.looseObject({}) }, run);
  tool('pid', () => text(`pid ${process.pid}`));
  tool('echo', (args) => text(JSON.stringify(args)));
  tool('die', () => process.exit(3));
  tool('hang', (args) => new Promise((resolve) => held.add(() => resolve(text(`released ${args.n}`)))));
  tool('release', () => {
    for (const release of held) release();
    held.clear();
    return text('done');
  });
  tool('progress', async (args, ctx) => {
    const { progressToken } = ctx.mcpReq._meta;
    for (const progress of [1, 2]) {
      await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: args.n } });
    }
    return text('done');
  });
  tool('changed', () => {
    server.sendToolListChanged();
    return text('done');
  });
  return server;
});
