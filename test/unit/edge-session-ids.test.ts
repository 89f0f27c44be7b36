import fc from 'fast-check';
import type { Requester } from '../../core/requester';
import { createSessionIds } from '../../gateway/edge/session-ids';

const key = Uint8Array.from({ length: 32 }, (_, index) => index);
const amira: Requester = { subject: 'user:amira', agent: 'support-bot', chain: [] };
const ids = createSessionIds({ key, server: 'orders-db' });

describe('session ids', () => {
  it('open to the id of the upstream, at every gateway with the same key', () => {
    const id = ids.issue('1868a90c-8d3e', amira);
    expect(id).toBe('s1.MTg2OGE5MGMtOGQzZQ.iZA-IVu3EUIpN-IS0-7Yj-ZkpU5SZcDExTEgEZ1hkVg');
    expect(createSessionIds({ key: Uint8Array.from(key), server: 'orders-db' }).open(id, amira)).toBe('1868a90c-8d3e');
  });

  it.each<{ readonly name: string; readonly other: Requester }>([
    { name: 'subject', other: { ...amira, subject: 'user:ben' } },
    { name: 'agent', other: { ...amira, agent: 'other-bot' } },
    { name: 'chain', other: { ...amira, chain: ['user:amira', 'support-bot'] } },
    { name: 'split between subject and agent', other: { ...amira, subject: 'user:amira","support-bot', agent: '' } },
  ])('open to nothing for a requester with another $name [SESS-2]', ({ other }) => {
    expect(ids.open(ids.issue('abc', amira), other)).toBeNull();
  });

  it('open to nothing at another server, or under another key', () => {
    const id = ids.issue('abc', amira);
    expect(createSessionIds({ key, server: 'billing-db' }).open(id, amira)).toBeNull();
    expect(createSessionIds({ key: new Uint8Array(32), server: 'orders-db' }).open(id, amira)).toBeNull();
  });

  it.each(['', 'abc', 's1..', `s1.YWJj.${'A'.repeat(43)}`, `s1.YWJj.${'A'.repeat(42)}`, 's2.YWJj.x', 's1.YWJj'])(
    'open to nothing where nothing was issued: %s [SESS-2]',
    (id) => {
      expect(ids.open(id, amira)).toBeNull();
    },
  );

  it('have one spelling each', () => {
    const id = ids.issue('a', amira);
    expect(id.startsWith('s1.YQ.')).toBe(true);
    expect(ids.open(id.replace('s1.YQ.', 's1.YR.'), amira)).toBeNull();
    const last = id.at(-1) ?? '';
    const twin = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (const char of twin) {
      if (char !== last) expect(ids.open(`${id.slice(0, -1)}${char}`, amira)).toBeNull();
    }
  });

  it('are visible ASCII whatever the upstream chose, and give it back', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (upstreamId) => {
        const id = ids.issue(upstreamId, amira);
        expect(id).toMatch(/^[\x21-\x7e]+$/);
        expect(ids.open(id, amira)).toBe(upstreamId);
      }),
    );
  });

  it('need a key of 32 bytes', () => {
    expect(() => createSessionIds({ key: new Uint8Array(31), server: 'a' })).toThrow(
      'A key of session ids has 32 bytes, not 31',
    );
  });
});
