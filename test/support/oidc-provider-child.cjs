'use strict';

/**
 * An OpenID provider in a process of its own. It says { port }, waits for { redirectUri }, and says { ready: true }.
 * Its one page lets anybody be anybody: a link for each account, and one without a name, which refuses. In its address
 * `acr` is the class of the sign-in, and `ts` when it is to have been, in epoch seconds.
 */
const { createServer } = require('node:http');
const { generateKeyPairSync } = require('node:crypto');

const CLIENT = { client_id: 'console', client_secret: 'the-secret-of-the-console' };
const ACCOUNTS = {
  dana: { email: 'dana@example.com', email_verified: true },
  mallory: { email: 'dana@example.com', email_verified: false },
  stranger: { email: '<b>stranger</b>\u202e@example.com', email_verified: true },
  nameless: {},
};

async function start(issuer, redirectUri) {
  const { Provider } = await import('oidc-provider');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const provider = new Provider(issuer, {
    clients: [{ ...CLIENT, redirect_uris: [redirectUri] }],
    acrValues: ['phr', 'pwd'],
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    cookies: { keys: ['only-for-tests'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'k1', alg: 'RS256', use: 'sig' }] },
    findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId, ...ACCOUNTS[accountId] }) }),
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope('openid email');
      await grant.save();
      return grant;
    },
  });
  return { provider, callback: provider.callback() };
}

async function interact(provider, req, res) {
  const { pathname, searchParams } = new URL(req.url, 'http://localhost');
  const account = searchParams.get('account');
  if (account === null) {
    const links = ['', ...Object.keys(ACCOUNTS)].map(
      (name) => `<a href="${pathname}?account=${name}">${name || 'refuse'}</a>`,
    );
    res.writeHead(200, { 'content-type': 'text/html' }).end(`<title>Provider</title>${links.join(' ')}`);
    return;
  }
  const [acr, ts] = [searchParams.get('acr'), searchParams.get('ts')];
  const login = { accountId: account, ...(acr !== null && { acr }), ...(ts !== null && { ts: Number(ts) }) };
  const result = account === '' ? { error: 'access_denied' } : { login };
  await provider.interactionFinished(req, res, result, { mergeWithLastSubmission: false });
}

let started = null;
const server = createServer((req, res) => {
  if (started === null) res.writeHead(503).end();
  else if (req.url.startsWith('/interaction/')) {
    interact(started.provider, req, res).catch((error) => res.writeHead(500).end(String(error)));
  } else started.callback(req, res);
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('message', async ({ redirectUri }) => {
  started = await start(`http://127.0.0.1:${server.address().port}`, redirectUri);
  process.send({ ready: true });
});
process.on('disconnect', () => process.exit());
