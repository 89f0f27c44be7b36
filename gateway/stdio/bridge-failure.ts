import type { IncomingMessage } from 'node:http';
import { readBody } from '../../activities/http-exchange';
import type { HttpExchange } from '../../activities/http-exchange';
import { parseJson, readRpcMessage } from '../../activities/rpc';
import { SERVER_ERROR } from '../wire/refusal';

const MAX_REFUSAL_BYTES = 65_536;

/** What a client is told in the place of an answer. */
export interface BridgeFailure {
  readonly code: number;
  readonly message: string;
}

/** A request that got no response. */
export function noResponse(url: URL, { sent, detail }: HttpExchange & { readonly ok: false }): BridgeFailure {
  if (sent) return failure(`The connection to the gateway broke (${detail}); ${NOT_KNOWN}`);
  return failure(
    `The gateway at ${url.origin} cannot be reached (${detail}); nothing was sent. Start it, or correct the address`,
  );
}

/** A request whose response ended without its answer. */
export function noAnswer(detail: string): BridgeFailure {
  return failure(`There is no answer of the gateway: ${detail}; ${NOT_KNOWN}`);
}

/** A request that was refused by HTTP: in the gateway's own words where it has some. */
export async function refused(url: URL, response: IncomingMessage): Promise<BridgeFailure> {
  const status = response.statusCode ?? 0;
  const body = await readBody(response, MAX_REFUSAL_BYTES);
  const value = body.ok ? parseJson(body.text) : undefined;
  const read = value === undefined ? undefined : readRpcMessage(value, status);
  const error = read?.kind === 'reply' && read.reply.kind === 'error' ? read.reply : undefined;
  const said = error === undefined ? '' : `: ${error.message}`;
  return { code: error?.code ?? SERVER_ERROR, message: `${wordsFor(status, url)}${said}` };
}

const NOT_KNOWN = 'whether this request ran is not known';

function failure(message: string): BridgeFailure {
  return { code: SERVER_ERROR, message };
}

function wordsFor(status: number, url: URL): string {
  switch (status) {
    case 401:
      return 'NOT executed: the gateway refused the token (HTTP 401). Give this command one that is valid, and start it again';
    case 403:
      return 'NOT executed: the gateway refused this client (HTTP 403)';
    case 404:
      return `NOT executed: the gateway knows no server or no session here (HTTP 404). Check the address ${url.pathname}`;
    default:
      return `The gateway answered HTTP ${status}`;
  }
}
