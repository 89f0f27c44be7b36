import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../../ledger/log';
import { takeBearer } from './bearer';
import { allowOrigin, answerPreflight } from './cors';
import { refuse, refusalOf } from '../wire/refusal';
import type { Refusal } from '../wire/refusal';
import { checkHost, publicOrigin } from '../../web/host-check';
import { createIdentify } from './identify';
import type { Admitted, Identify } from './identify';
import type { KeyTimes } from './issuer-keys';
import { metadataAt } from './metadata';
import { createRateLimit } from './rate-limit';
import { isResourcePath, METADATA_PATH } from './resource';
import type { EdgeSettings } from './settings';

export type { Admitted } from './identify';

export interface Edge {
  /**
   * Who sends this request to the endpoint at `resourcePath` (`/mcp`, or `/mcp/` and a server), or null where the
   * request was answered here: a foreign Host or Origin (403), nobody known (401), no scope (403), too many messages
   * (429), keys or tokens that cannot be read (503), no endpoint (404), the metadata of RFC 9728, a browser's
   * preflight. For every request, once, before anything else. The token is taken out of the request's headers, and
   * the headers of CORS are set on the response; the body is not touched. Never throws.
   */
  admit(req: IncomingMessage, res: ServerResponse, resourcePath: string): Promise<Admitted | null>;
}

interface Parts {
  readonly settings: EdgeSettings;
  readonly log: Log;
  readonly identify: Identify;
  readonly limit: ReturnType<typeof createRateLimit>;
}

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/** The edge of a gateway: what stands between a request of HTTP and a message of a known requester. */
export function createEdge(settings: EdgeSettings, log: Log, times?: KeyTimes): Edge {
  const { messagesPerMinute } = settings;
  const parts: Parts = {
    settings,
    log,
    identify: createIdentify(settings, log, times),
    limit: createRateLimit({ messagesPerMinute, nowMs: () => performance.now() }),
  };
  return {
    admit: async (req, res, resourcePath) => {
      const exchange = { req, res };
      // Taken first of all, so that no later line can come by it.
      const bearer = takeBearer(req);
      if (isAnswered(parts, exchange)) return null;
      if (!isResourcePath(resourcePath)) return logRefusal(parts, exchange, { reason: 'path', refusal: NO_ENDPOINT });
      const found = await parts.identify(bearer, { origin: publicOrigin(settings, req), resourcePath });
      if (!found.ok) return logRefusal(parts, exchange, found);
      const rate = parts.limit(found.admitted.requester);
      if (rate.ok) return found.admitted;
      return logRefusal(parts, exchange, { reason: 'rate', refusal: tooMany(messagesPerMinute, rate.retryAfterMs) });
    },
  };
}

const NO_ENDPOINT = refusalOf(404, 'There is no endpoint here; they are at /mcp/ and the name of a server');

const FOREIGN = {
  host: refusalOf(
    403,
    'The Host header names none of the names of this gateway; HOLDPOINT_GATEWAY_HOSTS lists further ones',
  ),
  origin: refusalOf(403, 'The Origin of this request is not allowed; HOLDPOINT_GATEWAY_ORIGINS lists those that are'),
} as const;

/** Answers what needs no requester. */
function isAnswered(parts: Parts, { req, res }: Exchange): boolean {
  const { settings } = parts;
  const checked = checkHost(settings, req);
  if (!checked.ok) {
    const { reason, found } = checked;
    logRefusal(parts, { req, res }, { reason, found, refusal: FOREIGN[reason] });
    return true;
  }
  if (checked.origin !== null) {
    allowOrigin(res, checked.origin);
    if (req.method === 'OPTIONS') {
      answerPreflight(req, res);
      return true;
    }
  }
  const [path = ''] = (req.url ?? '').split('?', 1);
  if (!path.startsWith(METADATA_PATH)) return false;
  answerMetadata(parts, { req, res }, path);
  return true;
}

function answerMetadata(parts: Parts, { req, res }: Exchange, path: string): void {
  const { settings } = parts;
  const origin = publicOrigin(settings, req);
  const metadata = settings.oauth === null ? null : metadataAt(path, { origin, oauth: settings.oauth });
  if (metadata === null || (req.method !== 'GET' && req.method !== 'HEAD')) {
    logRefusal(parts, { req, res }, { reason: 'path', refusal: refusalOf(404, 'There are no metadata here') });
    return;
  }
  res.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'max-age=300' });
  res.end(req.method === 'HEAD' ? undefined : JSON.stringify(metadata));
}

interface Refused {
  readonly refusal: Refusal;
  /** For the log only. */
  readonly reason: string;
  readonly found?: string;
}

function logRefusal({ log }: Parts, exchange: Exchange, { refusal, reason, found }: Refused): null {
  const { status } = refusal;
  const fields = { status, reason, ...(found === undefined ? {} : { found }) };
  if (status === 503) log.error(fields, 'gateway.refused');
  else log.info(fields, 'gateway.refused');
  refuse(exchange.res, refusal);
  return null;
}

function tooMany(messagesPerMinute: number, retryAfterMs: number): Refusal {
  const seconds = Math.ceil(retryAfterMs / 1_000);
  const message = `A requester may send ${messagesPerMinute} messages a minute; send the next one in ${seconds} s`;
  return refusalOf(429, message, { headers: { 'retry-after': String(seconds) } });
}
