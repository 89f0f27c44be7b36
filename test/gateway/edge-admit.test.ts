import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  selectResourceURL,
  type OAuthClientProvider,
} from '@modelcontextprotocol/sdk/client/auth.js';
import { newToken } from '../../gateway/edge/new-token';
import type { EdgeSettings } from '../../gateway/edge/settings';
import { bearer, send, sendRaw, serveEdge, startIssuer, type EdgeServer } from './edge-stage';

let folder: string;
let tokensFile: string;
let token: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdpoint-edge-'));
  tokensFile = join(folder, 'tokens.json');
  const made = newToken(tokensFile, { subject: 'user:amira', agent: 'support-bot' });
  if (!made.ok) throw new Error(made.detail);
  ({ token } = made);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});
async function edge(more: Partial<EdgeSettings> = {}): Promise<EdgeServer> {
  const server = await serveEdge({ tokensFile, ...more });
  open.push(server);
  return server;
}
const issuer = async () => {
  const started = await startIssuer();
  open.push(started);
  return started;
};

describe('a request without a token that counts', () => {
  it('is answered with 401 and how to send one', async () => {
    const { status, headers, json } = await send(await edge());
    expect(status).toBe(401);
    expect(headers['www-authenticate']).toBe('Bearer realm="Holdpoint gateway"');
    expect(json).toEqual({
      jsonrpc: '2.0',
      error: {
        code: -32000,
        message: 'This gateway serves only whom it knows: send Authorization: Bearer and a token',
      },
    });
  });

  it('gets the same answer whatever is wrong with it [WEB-6]', async () => {
    const server = await edge();
    const wrong = ['abc', `hp_${'A'.repeat(43)}`, token.slice(0, -1), `${token}=`, 'e30.e30.e30', 'a'.repeat(8_000)];
    const answers = await Promise.all(wrong.map((given) => send(server, bearer(given))));
    const [first] = answers;
    expect(first?.status).toBe(401);
    expect(first?.headers['www-authenticate']).toBe('Bearer realm="Holdpoint gateway", error="invalid_token"');
    for (const { status, text, headers } of answers) {
      expect([status, text, headers['www-authenticate']]).toEqual([
        401,
        first?.text,
        first?.headers['www-authenticate'],
      ]);
    }
  });

  it.each([
    ['Basic YTpi', 'Bearer realm="Holdpoint gateway"'],
    ['Bearer', 'Bearer realm="Holdpoint gateway", error="invalid_token"'],
    ['Bearer a b', 'Bearer realm="Holdpoint gateway", error="invalid_token"'],
    ['Bearer "a"', 'Bearer realm="Holdpoint gateway", error="invalid_token"'],
  ])('is not known by "%s"', async (authorization, challenge) => {
    const { status, headers } = await send(await edge(), { headers: { authorization } });
    expect([status, headers['www-authenticate']]).toEqual([401, challenge]);
  });

  it('is not known by a token in the address, nor by two headers of which one is right', async () => {
    const server = await edge();
    expect((await send(server, { path: `/mcp/orders-db?access_token=${token}` })).status).toBe(401);
    const twice = (one: string, other: string): Promise<string> =>
      sendRaw(
        server,
        `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nConnection: close\r\n` +
          `Authorization: Bearer ${one}\r\nAuthorization: Bearer ${other}\r\n\r\n`,
      );
    expect(await twice(token, 'abc')).toContain('HTTP/1.1 401');
    expect(await twice('abc', token)).toContain('HTTP/1.1 401');
    expect(server.passed).toEqual([]);
  });

  it('is not served while the file of tokens cannot be read', async () => {
    const server = await edge({ tokensFile: join(folder, 'none.json') });
    const { status, headers, text } = await send(server, bearer(token));
    expect([status, headers['retry-after']]).toEqual([503, '10']);
    expect(text).not.toContain('none.json');
  });

  it('is told where the metadata are and which scopes are needed, as MCP clients read it', async () => {
    const { oauth } = await issuer();
    const server = await edge({ oauth: { ...oauth, scopes: ['mcp', 'tools:list'] } });
    const { headers } = await send(server);
    const challenge = headers['www-authenticate'] ?? '';
    const metadata = `${server.url}/.well-known/oauth-protected-resource/mcp/orders-db`;
    expect(challenge).toBe(`Bearer resource_metadata="${metadata}", scope="mcp tools:list"`);
    const response = new Response(null, { status: 401, headers: { 'www-authenticate': challenge } });
    expect(extractWWWAuthenticateParams(response)).toEqual({
      resourceMetadataUrl: new URL(metadata),
      scope: 'mcp tools:list',
      error: undefined,
    });
  });
});

describe('a known requester', () => {
  it('may send with a local token, also where there is an issuer', async () => {
    const { oauth } = await issuer();
    for (const server of [await edge(), await edge({ oauth })]) {
      const { status, json } = await send(server, bearer(token));
      expect(status).toBe(200);
      expect(json).toMatchObject({
        requester: { subject: 'user:amira', agent: 'support-bot', chain: [] },
        mayCall: true,
        challenge: null,
      });
    }
  });

  it('is known by "bearer" in any case', async () => {
    expect((await send(await edge(), { headers: { authorization: `bEARER ${token}` } })).status).toBe(200);
  });

  it('may send so many messages a minute, and is told when the next one is taken', async () => {
    const server = await edge({ messagesPerMinute: 2 });
    const statuses = [];
    for (let index = 0; index < 2; index += 1) statuses.push((await send(server, bearer(token))).status);
    expect(statuses).toEqual([200, 200]);
    const { status, headers, json } = await send(server, bearer(token));
    expect(status).toBe(429);
    expect(headers['retry-after']).toBe('30');
    expect(json.error.message).toBe('A requester may send 2 messages a minute; send the next one in 30 s');
    expect((await send(server)).status).toBe(401);
  });

  it.each(['/', '/mcp/', '/mcp/a/b', '/mcp/..', '/mcp/%6frders', '/mcpx', '/.well-known/openid-configuration'])(
    'finds no endpoint at %s',
    async (path) => {
      expect((await send(await edge(), { ...bearer(token), path })).status).toBe(404);
    },
  );
});

describe("the client's token", () => {
  it('is passed on in no header, and stands in no line of the log [BYPASS-1]', async () => {
    const { oauth, token: access } = await issuer().then(async (started) => ({
      oauth: started.oauth,
      token: await started.token({ aud: 'https://gw.example' }),
    }));
    const server = await edge({ oauth, publicUrl: 'https://gw.example', messagesPerMinute: 2 });
    const wrong = `hp_${'B'.repeat(43)}`;
    for (const given of [token, access, wrong, `${access}x`, 'secret-of-another-kind', token, access]) {
      await send(server, { ...bearer(given), body: '{}' });
    }
    await send(server, { headers: { authorization: `Basic ${token}` } });
    await send(server, { headers: { authorization: `Bearer ${token}`, host: 'evil.example' } });
    await send(server, { headers: { AUTHORIZATION: `Bearer ${token}`, origin: 'https://evil.example' } });
    await send(server, { ...bearer(token), path: `/nothing?access_token=${token}` });
    expect(server.passed).toHaveLength(2);
    expect(server.passed[0]).toContain('content-type');
    const written = JSON.stringify([server.passed, server.log.entries]);
    for (const secret of [token.slice(3), access, access.split('.')[2], 'BBBB', 'secret-of-another-kind']) {
      expect(written).not.toContain(secret);
    }
    expect(written.toLowerCase()).not.toContain('authorization');
    expect(server.log.entries).toHaveLength(9);
  });
});

describe('the metadata of protected resources', () => {
  it.each([
    ['', 'https://gw.example', 'Holdpoint gateway'],
    ['/mcp', 'https://gw.example/mcp', 'Holdpoint gateway'],
    ['/mcp/orders-db', 'https://gw.example/mcp/orders-db', 'Holdpoint gateway orders-db'],
    ['/mcp/unheard-of', 'https://gw.example/mcp/unheard-of', 'Holdpoint gateway unheard-of'],
  ])('stand at the well-known place%s, for those who are not known yet', async (path, resource, name) => {
    const { oauth } = await issuer();
    const server = await edge({
      publicUrl: 'https://gw.example',
      oauth: { ...oauth, scopes: ['mcp'], callScope: 'tools:call' },
    });
    const answer = await send(server, {
      method: 'GET',
      path: `/.well-known/oauth-protected-resource${path}`,
      headers: { host: 'gw.example' },
    });
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      resource,
      authorization_servers: [oauth.issuer],
      scopes_supported: ['mcp', 'tools:call'],
      bearer_methods_supported: ['header'],
      resource_name: name,
    });
  });

  it.each(['/mcp/orders-db', '/mcp'])('lead an MCP client at %s to a token that counts there', async (path) => {
    const started = await issuer();
    const server = await edge({ oauth: started.oauth });
    const address = `${server.url}${path}`;
    const metadata = await discoverOAuthProtectedResourceMetadata(address);
    expect(metadata.authorization_servers).toEqual([started.oauth.issuer]);
    const resource = await selectResourceURL(address, {} as OAuthClientProvider, metadata);
    expect(resource?.href).toBe(address);
    const aud = resource?.href ?? '';
    expect((await send(server, { ...bearer(await started.token({ aud })), path })).status).toBe(200);
    expect((await send(server, { ...bearer(await started.token({ aud })), path: '/mcp/other' })).status).toBe(401);
  });

  it.each(['x', '/mcp/', '/mcp/a/b', '/other', '/mcp/"'])('stand at no other: %s', async (path) => {
    const { oauth } = await issuer();
    const answer = await send(await edge({ oauth }), {
      method: 'GET',
      path: `/.well-known/oauth-protected-resource${path}`,
    });
    expect(answer.status).toBe(404);
  });

  it('are not there without an issuer, nor by POST', async () => {
    const path = '/.well-known/oauth-protected-resource';
    expect((await send(await edge(), { method: 'GET', path })).status).toBe(404);
    const { oauth } = await issuer();
    expect((await send(await edge({ oauth }), { path })).status).toBe(404);
  });
});
