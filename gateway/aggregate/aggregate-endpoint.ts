import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Requester } from '../../core/requester';
import type { Log } from '../../ledger/log';
import type { EdgeSettings } from '../edge/settings';
import type { Endpoint } from '../http/http-endpoint';
import type { Gate } from '../ports';
import { SESSION_REVISIONS } from '../stdio/http-rules';
import { idText } from '../wire/raw-json';
import { createSessionEndpoint } from '../stdio/stdio-endpoint';
import type { StatelessTaker } from '../stdio/stdio-endpoint';
import { AggregateProcess } from './aggregate-process';
import { Loopback } from './loopback';
import type { FindEndpoint } from './loopback';
import type { JoinMs } from './server-links';

const UNSUPPORTED_VERSION = -32022;
/** Some clients give up on the first answer after 60 s, and on a list sooner. */
const JOIN_MS: JoinMs = { first: 10_000, later: 2_000 };

export interface AggregateEndpointOptions {
  /** The names of the servers that a requester may use now, in order. */
  readonly accessible: (requester: Requester) => Promise<readonly string[]>;
  readonly find: FindEndpoint;
  readonly edge: Pick<EdgeSettings, 'sessionIdleMs' | 'sessionsPerRequester'>;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** 10 s and 2 s by default. */
  readonly joinMs?: JoinMs;
}

/**
 * `/mcp`: all servers that a requester may use, as one. Each session here has one of its own at every server's own
 * endpoint, where its calls are judged, run and recorded like any other's; here they are only told apart.
 */
export function createAggregateEndpoint(options: AggregateEndpointOptions): Endpoint {
  const { accessible, find, edge, log, joinMs = JOIN_MS } = options;
  const loopback = new Loopback(find);
  /** By what hears of them, which is the session that the gate is asked about. */
  const processes = new WeakMap<object, AggregateProcess>();
  const endpoint = createSessionEndpoint({
    name: 'all',
    log,
    limits: { idleMs: edge.sessionIdleMs, sessionsPerRequester: edge.sessionsPerRequester },
    gate: passingGate(processes),
    stateless: refusingStateless(accessible),
    start: async (requester) => {
      const origin = await loopback.origin();
      const token = loopback.admit(requester);
      const process: AggregateProcess = new AggregateProcess({
        ...{ token, log, joinMs },
        accessible: () => accessible(requester),
        urlOf: (server) => new URL(server, origin),
        onListen: (listener) => processes.set(listener, process),
        onClose: () => loopback.dismiss(token),
      });
      return { ok: true, process };
    },
  });
  return {
    handle: (req, res, caller) => endpoint.handle(req, res, caller),
    close: async () => {
      await endpoint.close();
      await loopback.close();
    },
  };
}

/** Every call is judged at its server's own endpoint; here is only heard of its trace, and whether its client is still there. */
function passingGate(processes: WeakMap<object, AggregateProcess>): Gate {
  return {
    judge: ({ session, message, signal, trace }) => {
      if (message.id !== null) processes.get(session)?.watch(message.id, { signal, trace });
      return Promise.resolve({ kind: 'pass' });
    },
    showList: (_, text) => Promise.resolve(text),
    showAnswer: (text) => text,
  };
}

/** Who lists and calls without a session cannot be shown one list of several servers' own. */
function refusingStateless(accessible: AggregateEndpointOptions['accessible']): StatelessTaker {
  return {
    take: async (_: IncomingMessage, res: ServerResponse, { message, requester, sender }) => {
      const paths = (await accessible(requester)).map((server) => `/mcp/${server}`);
      const places = paths.length === 0 ? '' : `, and without one each server at its own: ${paths.join(', ')}`;
      const error = {
        code: UNSUPPORTED_VERSION,
        message: `This endpoint needs a session: begin with initialize${places}`,
        data: { supported: SESSION_REVISIONS, requested: sender.revision },
      };
      const id = message.kind === 'request' ? idText(message.text) : 'null';
      res.writeHead(400, { 'content-type': 'application/json' });
      res.end(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`);
      return undefined;
    },
    close: () => Promise.resolve(),
  };
}
