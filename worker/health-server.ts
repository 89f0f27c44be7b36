import { createServer } from 'node:http';

export interface HealthServerOptions {
  readonly port: number;
  readonly host?: string;
  /** Whether the worker polls and its ledger answers. */
  readonly healthy: () => Promise<boolean>;
  /** Public keys by which tools verify permits. */
  readonly jwks: unknown;
}

/** `/healthz` for the orchestrator and `/.well-known/jwks.json` for the tools that verify permits; nothing else. */
export async function startHealthServer(
  options: HealthServerOptions,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { host = '127.0.0.1' } = options;
  const server = createServer((request, response) => {
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
      response.end(JSON.stringify(body));
    };
    if (request.method !== 'GET') answer(405, { error: 'only GET' });
    else if (request.url === '/.well-known/jwks.json') answer(200, options.jwks);
    else if (request.url === '/healthz') {
      options.healthy().then(
        (healthy) => {
          answer(healthy ? 200 : 503, { healthy });
        },
        () => {
          answer(503, { healthy: false });
        },
      );
    } else answer(404, { error: 'not found' });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, host, resolve);
  });
  const at = server.address();
  const port = typeof at === 'object' && at !== null ? at.port : options.port;
  return {
    url: `http://${host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
