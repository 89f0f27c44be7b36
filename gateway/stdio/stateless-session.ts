import type { RpcReply, RpcRequest } from '../../activities/rpc';
import type { Requester } from '../../core/requester';
import type { StatelessSender } from '../wire/stateless';
import type { ClientSession } from '../ports';
import { objectOr } from '../wire/server-message';

export interface StatelessSessionOptions {
  readonly server: string;
  readonly requester: Requester;
  readonly sender: StatelessSender;
  /** The same for all requests of one requester that say the same of themselves. */
  readonly profile: object;
  /** Asks the shared process. */
  readonly ask: (request: RpcRequest) => Promise<RpcReply>;
}

/** What stands for a session of a client that has none: what the gateway asks for it says the same of its sender. */
export function statelessSession({ server, requester, sender, profile, ask }: StatelessSessionOptions): ClientSession {
  return {
    ...{ server, requester, profile },
    clientName: sender.clientName,
    revision: sender.revision,
    roots: null,
    request: (request) => {
      const meta = { ...sender.meta, ...objectOr(request.params['_meta']) };
      return ask({ ...request, params: { ...request.params, _meta: meta } });
    },
  };
}
