import { createHmac, generateKeyPairSync } from 'node:crypto';
import { exportSPKI, importJWK, SignJWT, type CryptoKey } from 'jose';
import { KEY_TIMES } from '../../gateway/edge/issuer-keys';
import { eventually } from '../support/eventually';
import { bearer, send, serveEdge, startIssuer, type EdgeServer, type Issuer } from './edge-stage';

const AUDIENCE = 'https://gw.example/mcp/orders-db';
const nowS = (): number => Math.floor(Date.now() / 1_000);

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

interface Stage {
  readonly issuer: Issuer;
  readonly edge: EdgeServer;
  /** The answer to a token with these claims, for this endpoint where they name no other. */
  ask(claims?: Record<string, unknown>, header?: Record<string, string>): ReturnType<typeof send>;
}

async function stage({
  oauth = {},
  times = {},
  path = '',
}: {
  readonly oauth?: Partial<Issuer['oauth']>;
  readonly times?: Partial<typeof KEY_TIMES>;
  readonly path?: string;
} = {}): Promise<Stage> {
  const issuer = await startIssuer(path);
  const edge = await serveEdge(
    { publicUrl: 'https://gw.example', oauth: { ...issuer.oauth, ...oauth } },
    { ...KEY_TIMES, ...times },
  );
  open.push(issuer, edge);
  const ask: Stage['ask'] = async (claims, header) =>
    send(edge, bearer(await issuer.token({ aud: AUDIENCE, ...claims }, header)));
  return { issuer, edge, ask };
}

const INVALID =
  'Bearer resource_metadata="https://gw.example/.well-known/oauth-protected-resource/mcp/orders-db", ' +
  'error="invalid_token"';

/** Refused as every other token that does not count. */
function expectWrong({ status, headers, json }: Awaited<ReturnType<typeof send>>): void {
  expect(status).toBe(401);
  expect(headers['www-authenticate']).toBe(INVALID);
  expect(json).toEqual({
    jsonrpc: '2.0',
    error: {
      code: -32000,
      message: 'The token is not known here, or is not for this endpoint, or has expired; get a new one',
    },
  });
}

describe('an access token', () => {
  it('names the subject by sub with the prefix, and the agent by client_id', async () => {
    const { ask } = await stage();
    const { status, json } = await ask();
    expect(status).toBe(200);
    expect(json.requester).toEqual({ subject: 'user:amira', agent: 'support-bot', chain: [] });
    expect(json.mayCall).toBe(true);
  });

  it.each(['RS256', 'PS256', 'ES384', 'EdDSA'])('counts when signed by %s', async (alg) => {
    const { ask, issuer } = await stage();
    await issuer.addKey('other', alg);
    expect((await ask()).status).toBe(200);
  });

  it.each([
    ['the endpoint', 'https://gw.example/mcp/orders-db'],
    ['the gateway as a whole', 'https://gw.example'],
    ['the gateway as a whole, with a slash', 'https://gw.example/'],
    ['the endpoint and others', ['https://other.example', 'https://gw.example/mcp/orders-db']],
  ])('counts for %s', async (_name, aud) => {
    const { ask } = await stage();
    expect((await ask({ aud })).status).toBe(200);
  });

  it.each([
    ['another endpoint of this gateway', 'https://gw.example/mcp/billing-db'],
    ['another service', 'https://api.example'],
    ['its client', 'support-bot'],
    ['a longer name', 'https://gw.example/mcp/orders-db/x'],
    ['nothing', undefined],
    ['an empty list', []],
  ])('does not count when it is for %s [BYPASS-1]', async (_name, aud) => {
    const { ask } = await stage();
    expectWrong(await ask({ aud }));
  });

  it('counts for the audiences that are set, and for these alone', async () => {
    const { ask } = await stage({ oauth: { audiences: ['api://holdpoint', 'api://second'] } });
    expect((await ask({ aud: 'api://second' })).status).toBe(200);
    expectWrong(await ask({ aud: AUDIENCE }));
  });

  it.each<[string, Record<string, unknown>]>([
    ['has expired', { exp: nowS() - 40 }],
    ['never expires', { exp: undefined }],
    ['is not valid yet', { nbf: nowS() + 60 }],
    ['is of another issuer', { iss: 'https://login.example' }],
    ['names no issuer', { iss: undefined }],
    ['names no subject', { sub: undefined }],
    ['names an empty subject', { sub: '' }],
    ['names a subject that a policy would read as a pattern', { sub: '*' }],
    ['names a subject with a hidden character', { sub: 'ami\u200bra' }],
    ['names no client', { client_id: undefined }],
    ['names a client that is no text', { client_id: 7 }],
    ['is bound to a key of its holder', { cnf: { jkt: 'abc' } }],
    ['has an act that is no actor', { act: 'bot' }],
    ['has an act without a subject', { act: { client_id: 'bot' } }],
    ['has an act that is null', { act: null }],
    ['has an actor with a hidden character', { act: { sub: 'b\u202eot' } }],
  ])('does not count when it %s', async (_name, claims) => {
    const { ask } = await stage();
    expectWrong(await ask(claims));
  });

  it('counts 20 s after its end, or before its beginning: clocks differ', async () => {
    const { ask } = await stage();
    expect((await ask({ exp: nowS() - 20 })).status).toBe(200);
    expect((await ask({ nbf: nowS() + 20 })).status).toBe(200);
  });

  it.each(['JWT', 'application/at+jwt', 'AT+JWT'])('may be of the type %s', async (typ) => {
    const { ask } = await stage();
    expect((await ask({}, { typ })).status).toBe(200);
  });

  it.each(['holdpoint-permit+jwt', 'dpop+jwt', 'logout+jwt'])('may not be of the type %s', async (typ) => {
    const { ask } = await stage();
    expectWrong(await ask({}, { typ }));
  });

  it('takes the agent from azp where there is no client_id', async () => {
    const { ask } = await stage({ oauth: { subjectPrefix: '' } });
    const { json } = await ask({ client_id: undefined, azp: 'desk' });
    expect(json.requester).toEqual({ subject: 'amira', agent: 'desk', chain: [] });
  });

  it.each<[string, object, readonly string[]]>([
    ['one actor that is the client', { sub: 'support-bot' }, ['user:amira', 'support-bot']],
    ['one actor that is not', { sub: 'planner' }, ['user:amira', 'user:planner', 'support-bot']],
    [
      'actors before it, the last one first',
      { sub: 'support-bot', act: { sub: 'planner', act: { sub: 'dana' } } },
      ['user:amira', 'user:dana', 'user:planner', 'support-bot'],
    ],
  ])('tells the chain of %s', async (_name, act, chain) => {
    const { ask } = await stage();
    const { json } = await ask({ act });
    expect(json.requester).toEqual({ subject: 'user:amira', agent: 'support-bot', chain });
  });

  it('does not count with a chain of more than 16 names', async () => {
    const { ask } = await stage();
    const nested = (depth: number): object => (depth === 1 ? { sub: 'a' } : { sub: 'a', act: nested(depth - 1) });
    expect((await ask({ act: nested(14) })).status).toBe(200);
    expectWrong(await ask({ act: nested(15) }));
    expectWrong(await ask({ act: nested(400) }));
  });
});

describe('a forged token', () => {
  const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claimsOf = (issuer: Issuer) => ({
    iss: issuer.oauth.issuer,
    aud: AUDIENCE,
    sub: 'amira',
    client_id: 'support-bot',
    exp: nowS() + 300,
  });

  it.each(['none', 'None', ''])('with the algorithm "%s" does not count, and fetches nothing', async (alg) => {
    const { issuer, edge } = await stage();
    const unsigned = `${base64({ alg, typ: 'at+jwt', kid: 'k1' })}.${base64(claimsOf(issuer))}`;
    expectWrong(await send(edge, bearer(`${unsigned}.`)));
    expectWrong(await send(edge, bearer(`${unsigned}.AAAA`)));
    expect(issuer.asked).toEqual([]);
  });

  it('with the public key as the secret of HS256 does not count', async () => {
    const { issuer, edge, ask } = await stage();
    await issuer.addKey('rsa', 'RS256');
    expect((await ask()).status).toBe(200);
    const { publicJwk } = issuer.keys.at(-1)!;
    const pem = await exportSPKI((await importJWK(publicJwk, 'RS256')) as CryptoKey);
    const content = `${base64({ alg: 'HS256', typ: 'at+jwt', kid: 'rsa' })}.${base64(claimsOf(issuer))}`;
    for (const secret of [pem, pem.trimEnd(), JSON.stringify(publicJwk)]) {
      const mac = createHmac('sha256', secret).update(content).digest('base64url');
      expectWrong(await send(edge, bearer(`${content}.${mac}`)));
    }
  });

  it('signed by a stranger under a known key id does not count', async () => {
    const { issuer, edge } = await stage();
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const forged = await new SignJWT(claimsOf(issuer))
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'k1' })
      .sign(privateKey);
    expectWrong(await send(edge, bearer(forged)));
  });

  it('that brings its own key does not count', async () => {
    const { issuer, edge } = await stage();
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = publicKey.export({ format: 'jwk' }) as { kty: string; crv: string; x: string; y: string };
    const forged = await new SignJWT(claimsOf(issuer))
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'k1', jwk, jku: 'https://evil.example/jwks' })
      .sign(privateKey);
    expectWrong(await send(edge, bearer(forged)));
    expect(issuer.asked).toEqual(['/.well-known/oauth-authorization-server', '/jwks']);
  });

  it('with one character changed does not count', async () => {
    const { issuer, edge } = await stage();
    const [header, , signature] = (await issuer.token({ aud: AUDIENCE })).split('.');
    const claims = base64({ ...claimsOf(issuer), sub: 'dana' });
    expectWrong(await send(edge, bearer(`${header}.${claims}.${signature}`)));
  });

  it.each(['abc', 'a.b.c', '.', '..', 'e30.e30.e30', 'a'.repeat(8_000)])(
    'that is no JWT does not count, and fetches nothing [WEB-6]',
    async (token) => {
      const { issuer, edge } = await stage();
      expectWrong(await send(edge, bearer(token)));
      expect(issuer.asked).toEqual([]);
    },
  );
});

describe('the keys of the issuer', () => {
  it('are found by RFC 8414 and fetched once for many', async () => {
    const { issuer, ask } = await stage();
    await Promise.all([ask(), ask(), ask(), ask()]);
    await ask();
    expect(issuer.asked).toEqual(['/.well-known/oauth-authorization-server', '/jwks']);
  });

  it('are found by the metadata of OpenID, of an issuer with a path', async () => {
    const { issuer, ask } = await stage({ path: '/realms/a' });
    const document = { issuer: issuer.oauth.issuer, jwks_uri: `${issuer.url}/jwks` };
    issuer.metadata = { '/realms/a/.well-known/openid-configuration': document };
    expect((await ask()).status).toBe(200);
    expect(issuer.asked).toEqual([
      '/.well-known/oauth-authorization-server/realms/a',
      '/.well-known/openid-configuration/realms/a',
      '/realms/a/.well-known/openid-configuration',
      '/jwks',
    ]);
  });

  it('are fetched from the address that is set, without metadata', async () => {
    const other = await startIssuer();
    open.push(other);
    const { ask, issuer } = await stage({ oauth: { jwksUrl: `${other.url}/jwks` } });
    other.keys.splice(0, 1, ...issuer.keys);
    expect((await ask()).status).toBe(200);
    expect(issuer.asked).toEqual([]);
  });

  it.each<[string, (issuer: Issuer) => Record<string, unknown>]>([
    ['name another issuer', ({ url }) => ({ issuer: 'https://evil.example', jwks_uri: `${url}/jwks` })],
    ['name keys under plain HTTP elsewhere', ({ url }) => ({ issuer: url, jwks_uri: 'http://keys.example/jwks' })],
    ['name no keys', ({ url }) => ({ issuer: url })],
    ['are no object', () => [] as never],
  ])('are not taken from metadata that %s', async (_name, document) => {
    const { issuer, ask } = await stage();
    issuer.metadata = { '/.well-known/oauth-authorization-server': document(issuer) };
    expect((await ask()).status).toBe(503);
    expect(issuer.asked).not.toContain('/jwks');
  });

  it('that were not known are fetched when a token names them, and a removed one ends with the cache', async () => {
    const { issuer, ask, edge } = await stage({ times: { cooldownMs: 0, cacheMs: 300 } });
    const before = await issuer.token({ aud: AUDIENCE });
    expect((await send(edge, bearer(before))).status).toBe(200);
    await issuer.addKey('k2');
    expect((await ask()).status).toBe(200);
    issuer.keys.shift();
    await eventually(async () => expect((await send(edge, bearer(before))).status).toBe(401));
    expect((await ask()).status).toBe(200);
  });

  it('are not fetched again for each unknown key: it does not count', async () => {
    const { issuer, ask } = await stage();
    expect((await ask()).status).toBe(200);
    expectWrong(await ask({}, { kid: 'unknown' }));
    expectWrong(await ask({}, { kid: 'unknown2' }));
    expect(issuer.asked.filter((path) => path === '/jwks')).toHaveLength(1);
  });

  it.each(['down', 'silent', 'rubbish'] as const)(
    'let nobody in while the issuer is %s, and again after',
    async (state) => {
      const { issuer, ask, edge } = await stage({ times: { cooldownMs: 0, timeoutMs: 200 } });
      issuer.state = state;
      const { status, headers, json } = await ask();
      expect(status).toBe(503);
      expect(headers['retry-after']).toBe('10');
      expect(headers['www-authenticate']).toBeUndefined();
      expect(json.error.message).toBe('Who you are cannot be checked now, so nothing was done; try again later');
      expect(edge.log.entries.map(({ level, event }) => [level, event])).toEqual([['error', 'gateway.refused']]);
      issuer.state = 'up';
      expect((await ask()).status).toBe(200);
    },
  );

  it('let nobody in when the issuer is gone and the keys are old', async () => {
    const { issuer, ask } = await stage({ times: { cooldownMs: 0, cacheMs: 300 } });
    expect((await ask()).status).toBe(200);
    const token = await issuer.token({ aud: AUDIENCE });
    expect(token).not.toBe('');
    await issuer.close();
    await eventually(async () => expect((await ask()).status).toBe(503));
  });

  it('go on counting for a while when the issuer is gone, but a new key does not', async () => {
    const { issuer, ask } = await stage({ times: { cooldownMs: 0 } });
    expect((await ask()).status).toBe(200);
    issuer.state = 'down';
    expect((await ask()).status).toBe(200);
    await issuer.addKey('k2');
    expect((await ask()).status).toBe(503);
  });

  it('are not asked for again at once after they could not be fetched', async () => {
    const { issuer, ask } = await stage();
    issuer.state = 'down';
    expect((await ask()).status).toBe(503);
    expect((await ask()).status).toBe(503);
    expect(issuer.asked).toEqual(['/.well-known/oauth-authorization-server', '/jwks']);
  });
});

describe('scopes', () => {
  const METADATA = 'https://gw.example/.well-known/oauth-protected-resource/mcp/orders-db';

  it.each<[string, Record<string, unknown>]>([
    ['a text', { scope: 'mcp tools:list' }],
    ['scp as a text', { scp: 'tools:list mcp' }],
    ['scp as a list', { scp: ['tools:list', 'mcp'] }],
  ])('count as %s', async (_name, claims) => {
    const { ask } = await stage({ oauth: { scopes: ['mcp', 'tools:list'] } });
    expect((await ask(claims)).status).toBe(200);
  });

  it.each<[string, Record<string, unknown>]>([
    ['are left out', {}],
    ['are too few', { scope: 'mcp' }],
    ['only begin alike', { scope: 'mcp tools:listing' }],
    ['are no text', { scope: { mcp: true } }],
  ])('refuse with 403 and what is needed where they %s', async (_name, claims) => {
    const { ask } = await stage({ oauth: { scopes: ['mcp', 'tools:list'] } });
    const { status, headers, json } = await ask(claims);
    expect(status).toBe(403);
    expect(headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${METADATA}", error="insufficient_scope", scope="mcp tools:list"`,
    );
    expect(json).toEqual({
      jsonrpc: '2.0',
      error: {
        code: -32000,
        message: 'The access token lacks a scope that this needs; get one with the scopes that are named',
      },
    });
  });

  it('of a call let a token without it list, and challenge it to step up', async () => {
    const { issuer, edge } = await stage({ oauth: { scopes: ['mcp'], callScope: 'tools:call' } });
    const token = await issuer.token({ aud: AUDIENCE, scope: 'mcp' });
    const listed = await send(edge, bearer(token));
    expect([listed.status, listed.json.mayCall]).toEqual([200, false]);
    const called = await send(edge, { headers: { authorization: `Bearer ${token}`, 'x-call': '1' } });
    expect(called.status).toBe(403);
    expect(called.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${METADATA}", error="insufficient_scope", scope="mcp tools:call"`,
    );
    expect(called.json.id).toBe(7);
    const stepped = await issuer.token({ aud: AUDIENCE, scope: 'mcp tools:call' });
    expect((await send(edge, bearer(stepped))).json.mayCall).toBe(true);
  });
});
