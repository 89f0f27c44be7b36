import { setTimeout as delay } from 'node:timers/promises';
import type { ToolAnswer, ToolListing } from './tool-server';
import type { ToolServers } from './tool-servers';

/** Before anybody is asked: once more, for a connection that broke. */
export const OPENING_PATIENCE_MS = 500;

/** Before an approved effect: a server that is being restarted costs no approval. */
export const RECHECK_PATIENCE_MS = 20_000;

const FIRST_PAUSE_MS = 250;

/**
 * The same servers, whose reads are repeated with growing pauses while they give no usable answer, if a repeat begins
 * within `patienceMs` of the first read that failed; all reads share that time. A result with `isError` is an answer. A
 * call that does more than read is passed on once.
 */
export function patientServers(servers: ToolServers, patienceMs: number): ToolServers {
  let endsAtMs: number | undefined;
  const patiently = async <T>(read: () => Promise<T>, isAnswer: (result: T) => boolean): Promise<T> => {
    const sinceMs = performance.now();
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
      const result = await read();
      if (isAnswer(result)) return result;
      endsAtMs ??= sinceMs + patienceMs;
      if (performance.now() + pauseMs > endsAtMs) return result;
      await delay(pauseMs);
    }
  };
  return {
    get: (entry) => {
      const server = servers.get(entry);
      return {
        listTools: (sinceMs) =>
          patiently<ToolListing>(
            () => server.listTools(sinceMs),
            (listing) => listing.ok,
          ),
        callTool: (call) =>
          call.read === true
            ? patiently<ToolAnswer>(
                () => server.callTool(call),
                (answer) => answer.kind === 'result',
              )
            : server.callTool(call),
        close: () => server.close(),
      };
    },
    closeAll: () => servers.closeAll(),
  };
}
