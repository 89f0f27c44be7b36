import { isJsonObject, type JsonObject } from '../../core/json';
import type { ToolServer } from '../../activities/tool-server';
import type { ToolServers } from '../../activities/tool-servers';
import type { TraceContext } from '../../tracing/span';

/** W3C Trace Context, which MCP carries in `_meta` under these names. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/**
 * What of a call's `_meta` goes along with a call that was approved: where it belongs in a trace. All else there is bound
 * by nothing, and could tell the tool what nobody has approved.
 */
export function traceOf({ _meta: said }: JsonObject): TraceContext {
  const { traceparent, tracestate } = said !== undefined && isJsonObject(said) ? said : {};
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return {};
  return { traceparent, ...(typeof tracestate === 'string' && TRACESTATE.test(tracestate) && { tracestate }) };
}

/** Tool servers whose calls carry it, but for those that only read. */
export function tracing(servers: ToolServers, trace: JsonObject): ToolServers {
  if (Object.keys(trace).length === 0) return servers;
  return { get: (entry) => traced(servers.get(entry), trace), closeAll: () => servers.closeAll() };
}

function traced(server: ToolServer, trace: JsonObject): ToolServer {
  return {
    listTools: (sinceMs) => server.listTools(sinceMs),
    callTool: (call) => server.callTool(call.read === true ? call : { ...call, meta: { ...trace, ...call.meta } }),
    close: () => server.close(),
  };
}
