import { createHmac } from 'node:crypto';
import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CompactSign } from 'jose';
import { generatePermitKey, jwksOf, loadPermitKey, savePermitKey } from '../../activities/permit-key';
import type { PermitKey } from '../../activities/permit-key';
import { signPermit } from '../../activities/sign-permit';
import { argumentsDigest, verifyPermit } from '../../client/permit';
import type { Permit } from '../../core/permit';

const DIGEST = `sha256:${'ab'.repeat(32)}`;

const permit: Permit = {
  v: 1,
  id: 'op_1.1',
  requester: { subject: 'user:amira', agent: 'support-bot', chain: ['user:amira', 'support-bot'] },
  server: 'orders-db',
  tool: 'apply_migration',
  operationId: 'op_1',
  bindingDigest: DIGEST,
  argumentsDigest: 'sha256:6e8f14dd29b3fb4fc2bcdb90cd0b89d2e7b9f5f0c46a5d9d1a4b0e1a7a3f2c11',
  resourceVersion: 7,
  request: { operationId: 'op_1', revision: 2 },
  deciders: ['dana'],
  askedRule: { id: 'production-migrations', version: 'v1' },
  permittedRule: { id: 'production-migrations', version: 'v2' },
  emergency: false,
  verified: true,
  issuedAtMs: 1_700_000_000_000,
  expiresAtMs: 1_700_000_035_000,
};
const nowMs = 1_700_000_010_000;

let key: PermitKey;
let token: string;
beforeAll(async () => {
  key = await generatePermitKey();
  token = await signPermit(permit, key);
});

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const parts = (): [string, string, string] => token.split('.') as [string, string, string];
const claims = (): object => JSON.parse(Buffer.from(parts()[1], 'base64url').toString()) as object;
const signed = (content: object | string, typ = 'holdpoint-permit+jwt'): Promise<string> =>
  new CompactSign(Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)))
    .setProtectedHeader({ alg: 'EdDSA', kid: key.kid, typ })
    .sign(key.privateKey);
const code = async (given: unknown, more = {}): Promise<string> => {
  const verdict = await verifyPermit(given, { keys: jwksOf(key), nowMs, ...more });
  return verdict.ok ? 'ok' : verdict.code;
};

describe('verifyPermit', () => {
  it('gives requester, deciders, digests, operation, request and both rule versions [WHO-17]', async () => {
    expect(await verifyPermit(token, { keys: jwksOf(key), nowMs })).toEqual({ ok: true, permit });
  });

  it('refuses a permit with one byte of its payload changed [WHO-17] [FORGE-15]', async () => {
    const [header, body, signature] = parts();
    const changed = Buffer.from(body, 'base64url').toString().replace('"op_1"', '"op_2"');
    expect(await code(`${header}.${Buffer.from(changed).toString('base64url')}.${signature}`)).toBe('PERMIT_SIGNATURE');
  });

  it('refuses each permit with one character of its signature changed', async () => {
    const [header, body, signature] = parts();
    const other = `${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`;
    expect(await code(`${header}.${body}.${other}`)).toBe('PERMIT_SIGNATURE');
  });

  it('accepts no algorithm but EdDSA [FORGE-15]', async () => {
    const [, body, signature] = parts();
    const typ = 'holdpoint-permit+jwt';
    expect(await code(`${base64({ alg: 'none', kid: key.kid, typ })}.${body}.`)).toBe('PERMIT_ALGORITHM');
    expect(await code(`${base64({ alg: 'none', kid: key.kid, typ })}.${body}.${signature}`)).toBe('PERMIT_ALGORITHM');
    // A public key used as the secret of an HMAC.
    const unsigned = `${base64({ alg: 'HS256', kid: key.kid, typ })}.${body}`;
    const mac = createHmac('sha256', Buffer.from(key.publicJwk.x, 'base64url')).update(unsigned).digest('base64url');
    expect(await code(`${unsigned}.${mac}`)).toBe('PERMIT_ALGORITHM');
  });

  it.each([
    { nowMs: 1_700_000_034_999, expected: 'ok' },
    { nowMs: 1_700_000_035_000, expected: 'PERMIT_EXPIRED' },
    { nowMs: 1_700_000_036_000, expected: 'PERMIT_EXPIRED' },
  ])('counts before its end and not from it on: $expected at $nowMs [FORGE-15]', async ({ nowMs: at, expected }) => {
    expect(await code(token, { nowMs: at })).toBe(expected);
  });

  it('refuses a permit of a key that is not among those given', async () => {
    const foreign = await signPermit(permit, await generatePermitKey());
    expect(await code(foreign)).toBe('PERMIT_UNKNOWN_KEY');
  });

  it("refuses another key's signature under a known key's id", async () => {
    const foreign = await generatePermitKey();
    expect(await code(await signPermit(permit, { ...foreign, kid: key.kid }))).toBe('PERMIT_SIGNATURE');
  });

  it.each([
    { field: 'server', expect: { server: 'billing-db' } },
    { field: 'tool', expect: { tool: 'delete_rows' } },
    { field: 'operation', expect: { operationId: 'op_9' } },
    { field: 'arguments digest', expect: { argumentsDigest: DIGEST } },
  ])('refuses a permit for another $field', async ({ field, expect: wanted }) => {
    const verdict = await verifyPermit(token, { keys: jwksOf(key), nowMs, expect: wanted });
    expect(verdict).toEqual({
      ok: false,
      code: 'PERMIT_MISMATCH',
      detail: `The permit op_1.1 is for another call: its ${field} differs. Refuse the call.`,
    });
  });

  it.each([undefined, null, 42, '', 'a', 'a.b', 'a.b.c', '{}', [], {}])(
    'refuses %p without throwing',
    async (given) => {
      expect(await code(given)).toBe('PERMIT_MALFORMED');
    },
  );

  it.each([
    { name: 'a version of the future', change: { v: 2 } },
    { name: 'no expiry', change: { exp: undefined } },
    { name: 'an expiry that is text', change: { exp: '9999999999' } },
    { name: 'no deciders', change: { deciders: undefined } },
    { name: 'a digest that is none', change: { bindingDigest: 'abc' } },
  ])('refuses signed claims with $name', async ({ change }) => {
    expect(await code(await signed({ ...claims(), ...change }))).toBe('PERMIT_MALFORMED');
  });

  it('refuses signed text that is not JSON, or names a claim twice', async () => {
    expect(await code(await signed('{'))).toBe('PERMIT_MALFORMED');
    const twice = JSON.stringify(claims()).replace('{', '{"tool":"read_rows",');
    expect(await code(await signed(twice))).toBe('PERMIT_MALFORMED');
  });

  it('refuses a token of another kind that the same key signed', async () => {
    expect(await code(await signed(claims(), 'JWT'))).toBe('PERMIT_MALFORMED');
  });
});

describe('keys', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'permit-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('are read from a file', async () => {
    const file = join(folder, 'jwks.json');
    await writeFile(file, JSON.stringify(jwksOf(key)));
    expect(await code(token, { keys: file })).toBe('ok');
  });

  it('that cannot be read count as unknown', async () => {
    expect(await code(token, { keys: join(folder, 'missing.json') })).toBe('PERMIT_UNKNOWN_KEY');
    await writeFile(join(folder, 'broken.json'), '[]');
    expect(await code(token, { keys: join(folder, 'broken.json') })).toBe('PERMIT_UNKNOWN_KEY');
  });

  it('are read from an address, once', async () => {
    let asked = 0;
    const server = createServer((_, response) => {
      asked += 1;
      response.setHeader('content-type', 'application/json').end(JSON.stringify(jwksOf(key)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/.well-known/jwks.json`);
    expect([await code(token, { keys: url }), await code(token, { keys: url.href })]).toEqual(['ok', 'ok']);
    expect(asked).toBe(1);
    await new Promise((resolve) => server.close(resolve));
  });

  it('are kept in a file that nobody else can read, and found there again', async () => {
    const file = join(folder, 'key.pem');
    await savePermitKey(file, key);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const loaded = await loadPermitKey(file);
    expect(loaded.ok && loaded.key.kid).toBe(key.kid);
    await expect(savePermitKey(file, key)).rejects.toThrow('EEXIST');
  });

  it('are read as a JWK too', async () => {
    const file = join(folder, 'key.json');
    await writeFile(file, JSON.stringify(key.privateKey.export({ format: 'jwk' })), { mode: 0o600 });
    const loaded = await loadPermitKey(file);
    expect(loaded.ok && loaded.key.kid).toBe(key.kid);
  });

  it('that others can read, that are of another kind or missing are refused, each with its reason', async () => {
    const file = join(folder, 'key.pem');
    const reason = async (): Promise<string> => {
      const loaded = await loadPermitKey(file);
      return loaded.ok ? 'ok' : loaded.detail.replace(file, 'FILE');
    };
    expect(await reason()).toBe(
      'The permit key FILE cannot be used: it cannot be read; create one or correct the path.',
    );
    await savePermitKey(file, key);
    await chmod(file, 0o644);
    expect(await reason()).toBe('The permit key FILE cannot be used: others can read it; set its mode to 0600.');
    await writeFile(file, 'nonsense');
    await chmod(file, 0o600);
    expect(await reason()).toBe(
      'The permit key FILE cannot be used: it holds no private Ed25519 key in PEM or as a JWK.',
    );
  });

  it('are published without their private half', () => {
    expect(jwksOf(key)).toEqual({
      keys: [{ kty: 'OKP', crv: 'Ed25519', x: key.publicJwk.x, kid: key.kid, alg: 'EdDSA', use: 'sig' }],
    });
  });
});

describe('argumentsDigest', () => {
  it('is one digest for equal arguments in any order', () => {
    expect(argumentsDigest({ b: 1, a: 'x' })).toBe(argumentsDigest({ a: 'x', b: 1 }));
    expect(argumentsDigest({ a: 'x', b: 1 })).toBe(
      'sha256:cdab067e9f3beb32d1252cfd63e492592fecbf591b0d08cadb24bb17f3864246',
    );
  });
});
