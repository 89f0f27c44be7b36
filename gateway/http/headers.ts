import type { IncomingHttpHeaders } from 'node:http';

/** Of a request only what belongs to MCP and to tracing goes on: never a credential, a cookie or a name of a host. */
const REQUEST_HEADERS = new Set([
  'accept',
  'content-type',
  'last-event-id',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'traceparent',
  'tracestate',
  'baggage',
]);
const PARAM_PREFIX = 'mcp-param-';

/** Of an answer: what describes its body, and how often to ask. An upstream's own challenge is not for the client. */
const RESPONSE_HEADERS = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'cache-control',
  'allow',
  'retry-after',
  'x-accel-buffering',
]);

/** The client's headers that its upstream gets. */
export function upstreamHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return picked(headers, (name) => REQUEST_HEADERS.has(name) || name.startsWith(PARAM_PREFIX));
}

/** The upstream's headers that the client gets. */
export function clientHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return picked(headers, (name) => RESPONSE_HEADERS.has(name));
}

function picked(headers: IncomingHttpHeaders, isWanted: (name: string) => boolean): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (isWanted(name) && typeof value === 'string') found[name] = value;
  }
  return found;
}
