import fc from 'fast-check';
import { CompactEncrypt, EncryptJWT } from 'jose';
import { deriveKey } from '../../console/sign-in/derive-key';
import { createFormTokens } from '../../console/sign-in/form-tokens';
import { createSeals, type Purpose } from '../../console/sign-in/sealed';

const KEY = Buffer.alloc(32, 7);
const seals = createSeals(KEY, () => 1_000);
const START = { state: 's', nonce: 'n', verifier: 'v', to: '/' };

/** A seal by the right key with any content. */
const sealOf = (content: unknown): Promise<string> =>
  new CompactEncrypt(Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .encrypt(deriveKey(KEY, 'seals'));

describe('a sealed statement', () => {
  it('opens for its purpose, with the person, an id of its own and its life', async () => {
    const [one, other] = [
      await seals.sealPerson('session', 'dana', 500),
      await seals.sealPerson('session', 'dana', 500),
    ];
    const opened = await seals.openPerson('session', one);
    expect(opened).toMatchObject({ v: 1, purpose: 'session', person: 'dana', issuedAtMs: 1_000, expiresAtMs: 1_500 });
    expect(opened?.id).toMatch(/^[0-9a-f-]{36}$/);
    expect((await seals.openPerson('session', other))?.id).not.toBe(opened?.id);
    expect(one).not.toContain(Buffer.from('dana').toString('base64url'));
  });

  const PURPOSES = ['session', 'link', 'api'] as const satisfies readonly Purpose[];
  it.each(
    PURPOSES.flatMap((made) => PURPOSES.filter((asked) => asked !== made).map((asked) => [made, asked] as const)),
  )('for %s never opens for %s', async (made, asked) => {
    expect(await seals.openPerson(asked, await seals.sealPerson(made, 'dana', 500))).toBeNull();
  });

  it('of a sign-in that was begun never opens for a person, and the other way round', async () => {
    const start = await seals.sealStart(START, 500);
    expect(await seals.openStart(start)).toMatchObject({ ...START, purpose: 'oidc', expiresAtMs: 1_500 });
    for (const purpose of PURPOSES) {
      expect(await seals.openPerson(purpose, start)).toBeNull();
      expect(await seals.openStart(await seals.sealPerson(purpose, 'dana', 500))).toBeNull();
    }
  });

  it('counts before its end, and not at it', async () => {
    const text = await seals.sealPerson('api', 'dana', 500);
    expect(await createSeals(KEY, () => 1_499).openPerson('api', text)).not.toBeNull();
    expect(await createSeals(KEY, () => 1_500).openPerson('api', text)).toBeNull();
  });

  it('opens under no other key', async () => {
    const text = await seals.sealPerson('api', 'dana', 500);
    expect(await createSeals(Buffer.alloc(32, 8), () => 1_000).openPerson('api', text)).toBeNull();
  });

  it('that was altered in any one character does not open [WEB-6]', async () => {
    const text = await seals.sealPerson('api', 'dana', 500);
    // The next letter: at the end of a part it differs in bits that most readers leave unread.
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (let at = 0; at < text.length; at += 1) {
      const other = letters[(letters.indexOf(text[at] ?? '') + 1) % letters.length] ?? '';
      expect([at, await seals.openPerson('api', text.slice(0, at) + other + text.slice(at + 1))]).toEqual([at, null]);
    }
  });

  it('that is short, long, or not one at all does not open, without an error [WEB-6]', async () => {
    const text = await seals.sealPerson('api', 'dana', 500);
    const others = ['', 'abc', '.', '....', `${text}=`, ` ${text}`, `${text}.`, text.slice(0, -1), 'é'.repeat(43)];
    for (const other of [...others, 'A'.repeat(1_000_000)]) {
      expect(await seals.openPerson('api', other)).toBeNull();
      expect(await seals.openStart(other)).toBeNull();
    }
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), async (any) => (await seals.openPerson('api', any)) === null),
    );
  });

  it('by the right key but of another form, version or algorithm does not open', async () => {
    const right = { v: 1, purpose: 'api', id: 'i', person: 'dana', issuedAtMs: 1_000, expiresAtMs: 1_500 };
    expect(await seals.openPerson('api', await sealOf(right))).toEqual(right);
    const others = [{ ...right, v: 2 }, { ...right, admin: true }, { ...right, expiresAtMs: '9' }, [], null, 'rubbish'];
    for (const other of others) expect(await seals.openPerson('api', await sealOf(other))).toBeNull();
    const wrapped = await new EncryptJWT(right)
      .setProtectedHeader({ alg: 'A256KW', enc: 'A256GCM' })
      .encrypt(deriveKey(KEY, 'seals'));
    expect(await seals.openPerson('api', wrapped)).toBeNull();
  });
});

describe('a form token', () => {
  const { csrfOf, checkCsrf } = createFormTokens(KEY);

  it('is right for its session alone', () => {
    expect(csrfOf('one')).toMatch(/^[\w-]{43}$/);
    expect(checkCsrf('one', csrfOf('one'))).toBe(true);
    expect(checkCsrf('two', csrfOf('one'))).toBe(false);
    expect(createFormTokens(Buffer.alloc(32, 8)).checkCsrf('one', csrfOf('one'))).toBe(false);
  });

  it.each([
    ['', 'abc', 'é'.repeat(43), 'A'.repeat(43), 'A'.repeat(44)],
    [null, undefined, 43, {}, ['a']],
  ])('of any other form is wrong, without an error [WEB-6]', (...others) => {
    for (const other of others) expect([other, checkCsrf('one', other)]).toEqual([other, false]);
  });
});
