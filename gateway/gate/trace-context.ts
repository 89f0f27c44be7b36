import { isJsonObject, type JsonObject } from '../../core/json';
import type { ToolServer } from '../../activities/tool-server';
import type { ToolServers } from '../../activities/tool-servers';
import type { TraceContext } from '../../tracing/span';
import type { IncomingCall } from '../ports';
import { tracePlace } from '../../tracing/trace-place';

/**
 * What of a call's `_meta` goes along with a call that was approved: where it belongs in a trace. All else there is bound
 * by nothing, and could tell the tool what nobody has approved.
 */
export function traceOf({ _meta: said }: JsonObject): TraceContext {
  return said !== undefined && isJsonObject(said) ? tracePlace(said) : {};
}

/**
 * Where a call belongs in its caller's trace. What the call itself says comes before its HTTP request, which may be that
 * of a proxy in between.
 */
export function callersPlace({ message, trace = {} }: Pick<IncomingCall, 'message' | 'trace'>): TraceContext {
  const said = traceOf(message.params);
  return said.traceparent === undefined ? trace : said;
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
