import { createServer, request, type IncomingMessage, type RequestListener } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTPayload } from 'jose';
import { createEdge, type Admitted } from '../../gateway/edge/admit';
import { refuse } from '../../gateway/wire/refusal';
import { readRequestBody } from '../../gateway/wire/read-body';
import type { EdgeSettings, OAuthSettings } from '../../gateway/edge/settings';
import type { KeyTimes } from '../../gateway/edge/issuer-keys';
import { recordedLog, type RecordedLog } from '../support/recorded-log';

export interface HttpServer {
  readonly port: number;
  readonly url: string;
  close(): Promise<void>;
}

async function serve(listener: RequestListener, port = 0): Promise<HttpServer> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const bound = (server.address() as AddressInfo).port;
  return {
    port: bound,
    url: `http://127.0.0.1:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const edgeSettings = (more: Partial<EdgeSettings>): EdgeSettings => ({
  host: '127.0.0.1',
  port: 0,
  publicUrl: null,
  hosts: [],
  origins: [],
  tokensFile: null,
  oauth: null,
  messagesPerMinute: 600,
  waitForMs: 4_000,
  sessionIdleMs: 1_800_000,
  sessionsPerRequester: 50,
  ...more,
});

export interface EdgeServer extends HttpServer {
  readonly log: RecordedLog;
  /** Raw headers of the requests that were admitted, as a proxy would pass them on. */
  readonly passed: readonly (readonly string[])[];
}

/** A server that answers each admitted request with its requester, and each message with its text. */
export async function serveEdge(more: Partial<EdgeSettings>, times?: KeyTimes): Promise<EdgeServer> {
  const log = recordedLog();
  const passed: string[][] = [];
  const edge = createEdge(edgeSettings(more), log, times);
  const answer = async (req: IncomingMessage, admitted: Admitted): Promise<object> => {
    passed.push([...req.rawHeaders, JSON.stringify(req.headers), JSON.stringify(req.headersDistinct)]);
    const body = req.method === 'POST' ? await readRequestBody(req) : { ok: true, text: '' };
    return { ...admitted, body };
  };
  const server = await serve((req, res) => {
    void edge.admit(req, res, (req.url ?? '').split('?', 1)[0] ?? '').then(async (admitted) => {
      if (admitted === null) return;
      if (req.headers['x-call'] === '1' && !admitted.mayCall) {
        refuse(res, { ...admitted.challenge, idText: '7' });
        return;
      }
      const answered = await answer(req, admitted);
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answered));
    });
  });
  return { ...server, log, passed };
}

export interface BodyServer extends HttpServer {
  readonly refused: readonly number[];
}

/** A server that reads a body and answers with its text. */
export async function serveBodies(): Promise<BodyServer> {
  const refused: number[] = [];
  const server = await serve((req, res) => {
    void readRequestBody(req).then((read) => {
      if (read.ok) {
        res.end(read.text);
        return;
      }
      refused.push(read.refusal.status);
      refuse(res, read.refusal);
    });
  });
  return { ...server, refused };
}

export interface Sending {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  readonly json: any; // eslint-disable-line @typescript-eslint/no-explicit-any
}

/** Sends a request as it is written; `fetch` would set Host and Origin itself. */
export function send({ port }: HttpServer, sending: Sending = {}): Promise<Answer> {
  const { method = 'POST', path = '/mcp/orders-db', headers = {}, body } = sending;
  const typed = body === undefined ? {} : { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const outgoing = request({
      port,
      host: '127.0.0.1',
      method,
      path,
      headers: { ...typed, ...headers },
      agent: false,
    });
    outgoing.on('error', reject).on('response', (response) => {
      const chunks: Buffer[] = [];
      response
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('error', reject)
        .on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const isJson = response.headers['content-type'] === 'application/json';
          const json: unknown = isJson ? JSON.parse(text) : undefined;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
        });
    });
    outgoing.end(body);
  });
}

/** Writes bytes to a connection and gives everything that comes back until it is closed. */
export function sendRaw({ port }: HttpServer, ...chunks: readonly (string | Buffer)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(port, '127.0.0.1');
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
    socket.on('error', reject).on('close', () => resolve(text));
    for (const chunk of chunks) socket.write(chunk);
  });
}

export const bearer = (token: string): { readonly headers: Readonly<Record<string, string>> } => ({
  headers: { authorization: `Bearer ${token}` },
});

interface IssuerKey {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

export interface Issuer extends HttpServer {
  readonly oauth: OAuthSettings;
  /** Paths that were asked for. */
  readonly asked: string[];
  readonly keys: IssuerKey[];
  /** What the keys' address answers: by default the keys. */
  state: 'up' | 'down' | 'silent' | 'rubbish';
  metadata: Record<string, unknown>;
  addKey(kid: string, alg?: string): Promise<IssuerKey>;
  token(claims?: JWTPayload, header?: { alg?: string; typ?: string; kid?: string }): Promise<string>;
}

/** An authorization server as far as its metadata, its keys and its tokens go. */
export async function startIssuer(path = ''): Promise<Issuer> {
  const keys: IssuerKey[] = [];
  const asked: string[] = [];
  const server = await serve((req, res) => {
    asked.push(req.url ?? '');
    if (req.url === '/jwks') {
      if (issuer.state === 'silent') return;
      if (issuer.state === 'down') res.writeHead(500).end();
      else if (issuer.state === 'rubbish') res.writeHead(200).end('<html>');
      else res.end(JSON.stringify({ keys: keys.map(({ publicJwk }) => publicJwk) }));
      return;
    }
    const document = issuer.metadata[req.url ?? ''];
    if (document === undefined) res.writeHead(404).end();
    else res.end(JSON.stringify(document));
  });
  const url = `${server.url}${path}`;
  const jwks = { issuer: url, jwks_uri: `${server.url}/jwks` };
  const issuer: Issuer = {
    ...server,
    oauth: { issuer: url, audiences: null, jwksUrl: null, scopes: [], callScope: null, subjectPrefix: 'user:' },
    asked,
    keys,
    state: 'up',
    metadata: { [`/.well-known/oauth-authorization-server${path}`]: jwks },
    addKey: async (kid, alg = 'ES256') => {
      const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
      const key = { kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
      keys.push(key);
      return key;
    },
    token: (claims = {}, header = {}) => {
      const key = keys.at(-1)!;
      const nowS = Math.floor(Date.now() / 1_000);
      return new SignJWT({ iss: url, sub: 'amira', client_id: 'support-bot', exp: nowS + 300, ...claims })
        .setProtectedHeader({ alg: key.publicJwk.alg ?? '', typ: 'at+jwt', kid: key.kid, ...header })
        .sign(key.privateKey);
    },
  };
  await issuer.addKey('k1');
  return issuer;
}
