import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Requester } from '../../core/requester';
import { takeBearer } from '../edge/bearer';
import { refusalOf, refuse } from '../wire/refusal';
import type { Refusal } from '../wire/refusal';
import type { FoundEndpoint } from '../endpoints';
import type { Endpoint } from '../http/http-endpoint';

/** Says that the server is not open to the requester. No upstream can set it: its headers are not passed on. */
export const CLOSED_HEADER = 'holdpoint-closed';
const TOKEN_BYTES = 32;

export type FindEndpoint = (server: string, requester: Requester) => Promise<FoundEndpoint>;

/**
 * Where this process reaches its own endpoints as a client does, so that a call through `/mcp` is judged, sent and
 * recorded by the very same code. It listens on the loopback interface only and knows nobody but the sessions of this
 * process, each by a token that no one else ever sees; the scope of a call was checked before it came here.
 */
export class Loopback {
  private readonly find: FindEndpoint;
  private readonly requesters = new Map<string, Requester>();
  /** Each as it was found last: a session may be ended also by who may begin none any more. */
  private readonly last = new Map<string, Endpoint>();
  private readonly server = createServer((req, res) => void this.handle(req, res));
  private listening: Promise<URL> | undefined;

  constructor(find: FindEndpoint) {
    this.find = find;
  }

  /** Where it listens; the path of a server's endpoint is its name. */
  origin(): Promise<URL> {
    this.listening ??= this.listen().catch((error: unknown) => {
      this.listening = undefined;
      throw error;
    });
    return this.listening;
  }

  admit(requester: Requester): string {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    this.requesters.set(token, requester);
    return token;
  }

  dismiss(token: string): void {
    this.requesters.delete(token);
  }

  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private listen(): Promise<URL> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(0, '127.0.0.1', () => {
        const at = this.server.address();
        resolve(new URL(`http://127.0.0.1:${typeof at === 'object' && at !== null ? at.port : 0}/`));
      });
    });
  }

  private async handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const bearer = takeBearer(req);
    const requester = bearer.kind === 'token' ? this.requesters.get(bearer.token) : undefined;
    if (requester === undefined) {
      refuse(res, refusalOf(401, 'This address is for the gateway itself; use the address of /mcp'));
      return;
    }
    const server = (req.url ?? '').slice(1);
    try {
      const found = await this.find(server, requester);
      if (found.kind === 'endpoint') this.last.set(server, found.endpoint);
      const endpoint = found.kind === 'endpoint' || req.method === 'DELETE' ? this.last.get(server) : undefined;
      if (endpoint !== undefined) await endpoint.handle(req, res, { requester, mayCall: true, challenge: null });
      else if (found.kind !== 'endpoint') {
        refuse(res, found.kind === 'none' ? notOpen(server) : unavailable(found.refusal.detail));
      }
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      if (res.headersSent) res.destroy();
      else refuse(res, unavailable(detail));
    }
  }
}

/** Not 404, which says that a session is gone. */
function notOpen(server: string): Refusal {
  const rule = `The server ${server} is not open to you: it is disabled, or your access was taken away`;
  const headers = { [CLOSED_HEADER]: 'yes' };
  return refusalOf(403, `${rule}. Ask an operator; an approval cannot give access`, { headers });
}

function unavailable(detail: string): Refusal {
  return refusalOf(503, `NOT executed: ${detail}`);
}
