import { inSpan, isTraced } from '../tracing/span';
import type { RpcReply, RpcRequest } from './rpc';
import type { RpcSession } from './tool-server';

/** A session whose requests are spans of the trace that is under way, where one is. */
export function tracedSession(server: string, session: RpcSession): RpcSession {
  return {
    request: (request) =>
      isTraced()
        ? inSpan(`mcp ${request.method}`, spanOf(server, request), () => session.request(request))
        : session.request(request),
    close: () => session.close(),
  };
}

function spanOf(server: string, { method, params: { name } }: RpcRequest) {
  const tool = method === 'tools/call' && typeof name === 'string' ? { 'holdpoint.tool': name } : {};
  return {
    kind: 'client',
    attributes: () => ({ 'rpc.system': 'mcp', 'rpc.method': method, 'holdpoint.server': server, ...tool }),
    resultAttributes: ({ kind }: RpcReply) => ({ 'holdpoint.reply': kind }),
  } as const;
}
