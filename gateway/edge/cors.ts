import type { IncomingMessage, ServerResponse } from 'node:http';

const REQUEST_HEADERS = [
  'authorization',
  'content-type',
  'accept',
  'last-event-id',
  'traceparent',
  'tracestate',
  'baggage',
];
/** Headers of MCP: some of them are named after a tool's arguments (2026-07-28, `Mcp-Param-…`). */
const MCP_HEADER = /^mcp-[a-z0-9_-]{1,128}$/;

/**
 * Lets the pages of an allowed origin read the answer (the Fetch standard, CORS). Never with credentials: the gateway
 * knows nobody by what a browser sends by itself.
 */
export function allowOrigin(res: ServerResponse, origin: string): void {
  res.setHeader('access-control-allow-origin', origin);
  res.setHeader('access-control-expose-headers', 'mcp-session-id, www-authenticate, retry-after');
  res.appendHeader('vary', 'Origin');
}

/** Answers the question that a browser asks before a request of an allowed origin. */
export function answerPreflight(req: IncomingMessage, res: ServerResponse): void {
  const asked = req.headers['access-control-request-headers']?.toLowerCase().split(/\s*,\s*/) ?? [];
  res.writeHead(204, {
    'access-control-allow-methods': 'POST, GET, DELETE',
    'access-control-allow-headers': [...REQUEST_HEADERS, ...asked.filter((name) => MCP_HEADER.test(name))].join(', '),
    'access-control-max-age': '600',
  });
  res.end();
}
