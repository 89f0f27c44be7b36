import type { ServerResponse } from 'node:http';

const REQUEST_HEADERS = [
  'authorization',
  'content-type',
  'accept',
  'last-event-id',
  'mcp-session-id',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
];

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
export function answerPreflight(res: ServerResponse): void {
  res.writeHead(204, {
    'access-control-allow-methods': 'POST, GET, DELETE',
    'access-control-allow-headers': REQUEST_HEADERS.join(', '),
    'access-control-max-age': '600',
  });
  res.end();
}
