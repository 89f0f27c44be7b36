import type { EdgeSettings } from '../../gateway/edge/settings';
import { send, sendRaw, serveEdge, type EdgeServer } from './edge-stage';

const open: EdgeServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});
async function edge(more: Partial<EdgeSettings> = {}): Promise<EdgeServer> {
  const server = await serveEdge({ tokensFile: '/nowhere', ...more });
  open.push(server);
  return server;
}

/** 401: the request came as far as the question who sends it. */
const statusOf = async (server: EdgeServer, headers: Record<string, string>): Promise<number> =>
  (await send(server, { headers })).status;

describe('the Host header', () => {
  it('of a re-bound name is refused with 403 and an error without id [WEB-5]', async () => {
    const server = await edge();
    for (const headers of [{ host: 'evil.example' }, { host: 'evil.example', origin: 'http://evil.example' }]) {
      const { status, json } = await send(server, { headers, body: '{"jsonrpc":"2.0","id":1,"method":"initialize"}' });
      expect(status).toBe(403);
      expect(json).toEqual({
        jsonrpc: '2.0',
        error: {
          code: -32000,
          message:
            'The Host header names none of the names of this gateway; HOLDPOINT_GATEWAY_HOSTS lists further ones',
        },
      });
    }
    expect(server.log.entries.map(({ fields }) => fields)).toEqual([
      { status: 403, reason: 'host', found: 'evil.example' },
      { status: 403, reason: 'host', found: 'evil.example' },
    ]);
  });

  it('may be any loopback name with the port, when bound to loopback', async () => {
    const server = await edge();
    for (const name of ['localhost', 'LOCALHOST', '127.0.0.1', '[::1]']) {
      expect(await statusOf(server, { host: `${name}:${server.port}` })).toBe(401);
    }
  });

  it('is refused on loopback with another port, or another form', async () => {
    const { port, ...server } = await edge();
    const others = [
      'localhost',
      'localhost:1',
      `localhost.:${port}`,
      `localhost:${port}.evil.example`,
      `localhost.evil.example:${port}`,
      `evil.example:${port}`,
      `user@localhost:${port}`,
      `127.0.0.2:${port}`,
      `[::1:${port}`,
    ];
    for (const host of others) expect([host, await statusOf({ port, ...server }, { host })]).toEqual([host, 403]);
  });

  it('may be the public one, with or without its usual port, and no loopback name unless bound to loopback', async () => {
    const server = await edge({ host: '0.0.0.0', publicUrl: 'https://gw.example' });
    expect(await statusOf(server, { host: 'gw.example' })).toBe(401);
    expect(await statusOf(server, { host: 'gw.example:443' })).toBe(401);
    expect(await statusOf(server, { host: 'gw.example:80' })).toBe(403);
    expect(await statusOf(server, { host: `localhost:${server.port}` })).toBe(403);
    expect(await statusOf(server, { host: `127.0.0.1:${server.port}` })).toBe(403);
  });

  it('may be a listed one, with its port where one is listed', async () => {
    const server = await edge({ hosts: ['gateway', 'inner.example:8484'] });
    expect(await statusOf(server, { host: 'gateway' })).toBe(401);
    expect(await statusOf(server, { host: 'gateway:9' })).toBe(401);
    expect(await statusOf(server, { host: 'inner.example:8484' })).toBe(401);
    expect(await statusOf(server, { host: 'inner.example' })).toBe(403);
  });

  it('stands there once, and the address is a path', async () => {
    const server = await edge();
    const own = `127.0.0.1:${server.port}`;
    const raw = (target: string, ...hosts: readonly string[]): Promise<string> =>
      sendRaw(
        server,
        [`POST ${target} HTTP/1.1`, ...hosts.map((host) => `Host: ${host}`), 'Connection: close', '', ''].join('\r\n'),
      );
    expect(await raw('/mcp', own)).toContain('HTTP/1.1 401');
    expect(await raw('/mcp', '')).toContain('HTTP/1.1 403');
    expect(await raw('/mcp', own, 'evil.example')).toContain('HTTP/1.1 403');
    expect(await raw('/mcp', 'evil.example', own)).toContain('HTTP/1.1 403');
    expect(await raw('http://evil.example/mcp', own)).toContain('HTTP/1.1 403');
  });
});

describe('the Origin header', () => {
  const status = async (server: EdgeServer, origin: string): Promise<number> => statusOf(server, { origin });

  it('of a foreign page is refused with 403 and an error without id', async () => {
    const server = await edge();
    const { status, headers, json } = await send(server, { headers: { origin: 'https://evil.example' } });
    expect(status).toBe(403);
    expect(headers['access-control-allow-origin']).toBeUndefined();
    expect(json).toEqual({
      jsonrpc: '2.0',
      error: {
        code: -32000,
        message: 'The Origin of this request is not allowed; HOLDPOINT_GATEWAY_ORIGINS lists those that are',
      },
    });
  });

  it('may be a loopback one when bound to loopback, with any port', async () => {
    const server = await edge();
    for (const origin of [server.url, 'http://localhost:6274', 'https://[::1]', 'http://127.0.0.1']) {
      expect([origin, await status(server, origin)]).toEqual([origin, 401]);
    }
  });

  it.each([
    'null',
    '',
    'http://localhost.evil.example',
    'http://evil.example#localhost',
    'http://localhost@evil.example',
    'http://localhost/',
    'file://',
    'ftp://localhost',
  ])('is refused on loopback: "%s"', async (origin) => {
    expect(await status(await edge(), origin)).toBe(403);
  });

  it('may be the public one or a listed one, and no loopback one unless bound to loopback', async () => {
    const server = await edge({
      host: '0.0.0.0',
      publicUrl: 'https://gw.example',
      hosts: ['127.0.0.1'],
      origins: ['https://app.example', 'vscode-webview://abc'],
    });
    for (const origin of ['https://gw.example', 'https://app.example', 'vscode-webview://ABC']) {
      expect([origin, await status(server, origin)]).toEqual([origin, 401]);
    }
    for (const origin of ['http://gw.example', 'https://app.example:444', 'http://localhost', 'vscode-webview://x']) {
      expect([origin, await status(server, origin)]).toEqual([origin, 403]);
    }
  });

  it('that is allowed lets a page ask before it sends, and read what comes back', async () => {
    const server = await edge({ origins: ['https://app.example'] });
    const asked = await send(server, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,Mcp-Session-Id, mcp-param-region,x-other',
      },
    });
    expect(asked.status).toBe(204);
    expect(asked.headers).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-methods': 'POST, GET, DELETE',
      'access-control-allow-headers':
        'authorization, content-type, accept, last-event-id, traceparent, tracestate, baggage, mcp-session-id, mcp-param-region',
      vary: 'Origin',
    });
    expect(asked.headers['access-control-allow-credentials']).toBeUndefined();
    const refused = await send(server, { headers: { origin: 'https://app.example' } });
    expect(refused.status).toBe(401);
    expect(refused.headers['access-control-allow-origin']).toBe('https://app.example');
    expect(refused.headers['access-control-expose-headers']).toContain('www-authenticate');
    const foreign = await send(server, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    });
    expect([foreign.status, foreign.headers['access-control-allow-origin']]).toEqual([403, undefined]);
  });

  it('that stands there twice is refused', async () => {
    const server = await edge();
    const lines = ['POST /mcp HTTP/1.1', `Host: 127.0.0.1:${server.port}`, `Origin: ${server.url}`];
    const answer = await sendRaw(
      server,
      [...lines, 'Origin: https://evil.example', 'Connection: close', '', ''].join('\r\n'),
    );
    expect(answer).toContain('HTTP/1.1 403');
  });
});
