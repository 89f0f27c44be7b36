import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import {
  bindingDigest,
  digestOf,
  keyedToken,
  operationId,
  sha256Hex,
  shortId,
  toolDefinitionDigest,
} from '../../core/digest';
import type { Binding } from '../../core/digest';
import { canonicalJson, parseStrictJson } from '../../core/json';
import type { JsonValue } from '../../core/json';

const key = new Uint8Array(32).fill(7);

const binding: Binding = {
  v: 1,
  requester: { subject: 'user:amira', agent: 'support-bot', chain: [] },
  server: { name: 'orders-db', identity: 'sha256:aa' },
  tool: 'apply_migration',
  toolDigest: 'sha256:bb',
  bind: 'arguments',
  bound: { n: 5 },
  resourceVersion: 7,
};

function digestOfText(text: string): string {
  const parsed = parseStrictJson(text);
  if (!parsed.ok) throw new Error(parsed.detail);
  return digestOf(parsed.value);
}

describe('digestOf', () => {
  test('order and spelling do not change it, the type of a value does [CANON-3]', () => {
    expect(digestOfText('{"b":1e2,"a":0}')).toBe(
      'sha256:eab1331942fed9267a72498333fd6ab2b06348facd5d1c76af5c2ecdb71ee5dc',
    );
    expect(digestOfText('{ "a": 0, "b": 100.0 }')).toBe(
      'sha256:eab1331942fed9267a72498333fd6ab2b06348facd5d1c76af5c2ecdb71ee5dc',
    );
    expect(digestOfText('{"a":0,"b":"100"}')).not.toBe(digestOfText('{"a":0,"b":100}'));
  });

  test.each([
    { id: 'BIND-04', texts: ['{"n":5}', '{"n":"5"}', '{"n":null}', '{}'] },
    { id: 'CANON-6', texts: ['"caf\\u00e9"', '"cafe\\u0301"'] },
    { id: 'CANON-7', texts: ['{"constructor":{"prototype":{"x":1}}}', '{"constructor":{"prototype":{"x":2}}}', '{}'] },
    { id: 'CANON-10', texts: ['{"amount":"100","extra":1}', '{"amount":100,"extra":1}', '{"amount":100}'] },
    { id: 'CANON-11', texts: ['{"amount":1}', '{"amount":1,"currency":null}', '{"amount":1,"currency":"EUR"}'] },
    { id: 'CANON-3', texts: ['[1,2]', '[2,1]', '[12]', '["1,2"]', '[[1],2]'] },
  ])('as many digests as texts: $texts [$id]', ({ texts }) => {
    expect(new Set(texts.map(digestOfText)).size).toBe(texts.length);
  });

  test('half a surrogate pair is never digested as another character [CANON-5]', () => {
    expect(() => digestOf('\ud800')).toThrow(TypeError);
    expect(() => sha256Hex('\udfff')).toThrow(TypeError);
  });
});

test('sha256Hex hashes UTF-8', () => {
  expect(sha256Hex('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  expect(sha256Hex('é€😀')).toBe('df9226927fd572c1ee66eec85de1bb139497614899f36e4e90474cb71f6ef9d0');
});

describe('keyedToken', () => {
  test('is 128 bits of HMAC over the value and its type', () => {
    expect(keyedToken(key, 'hunter2')).toBe('secret:3fffb51864007db520c35c0c06e8adf8');
    expect(keyedToken(key, '5')).not.toBe(keyedToken(key, 5));
  });

  test('another key gives another token', () => {
    expect(keyedToken(new Uint8Array(32).fill(8), 'hunter2')).not.toBe(keyedToken(key, 'hunter2'));
  });

  test('a key of 15 bytes is refused, one of 16 is not', () => {
    expect(() => keyedToken(new Uint8Array(15), 'x')).toThrow('A key for secrets has 16 bytes or more, not 15');
    expect(keyedToken(new Uint8Array(16), 'x')).toMatch(/^secret:[0-9a-f]{32}$/);
  });
});

describe('operationId', () => {
  test('is op_ and 160 bits', () => {
    expect(operationId({ requesterSubject: 'u1', turnId: 't1', callId: 'c1' })).toBe(
      'op_2886cd5f1a83469c10b01a1666628b453c703584',
    );
  });

  test('no shift of characters between the three names gives the same id', () => {
    const name = fc.string({ maxLength: 4, unit: fc.constantFrom('a', '"', ',', '\\', '/') });
    const call = fc.record({ requesterSubject: name, turnId: name, callId: name });
    fc.assert(
      fc.property(call, call, (a, b) => {
        const same = a.requesterSubject === b.requesterSubject && a.turnId === b.turnId && a.callId === b.callId;
        expect(operationId(a) === operationId(b)).toBe(same);
      }),
    );
    const split = { requesterSubject: 'a', turnId: 'b', callId: 'c' };
    expect(operationId(split)).not.toBe(operationId({ ...split, requesterSubject: 'ab', turnId: '' }));
    expect(operationId(split)).not.toBe(operationId({ ...split, requesterSubject: 'a","b', turnId: '' }));
  });
});

describe('shortId', () => {
  test('is the same each time, and another one for another revision', () => {
    expect(shortId('op_x', 1)).toBe('BNFEVNA7');
    expect(shortId('op_x', 2)).toBe('9XK4N3SR');
  });

  test('has 8 characters, none of which is taken for another', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii' }), fc.nat(), (operation, revision) => {
        expect(shortId(operation, revision)).toMatch(/^[2-9A-HJKMNP-TV-Z]{8}$/);
      }),
    );
  });
});

describe('bindingDigest', () => {
  test('is the digest of the labelled binding', () => {
    expect(bindingDigest(binding)).toBe('sha256:ba8782228545046dd1bb0bfeb5a0c80826c40ef09076c0dd7fe02c5fdda2c0f4');
  });

  test.each<{ name: string; change: Partial<Binding> }>([
    { name: 'the subject', change: { requester: { ...binding.requester, subject: 'user:omar' } } },
    { name: 'the agent', change: { requester: { ...binding.requester, agent: 'other-bot' } } },
    { name: 'the chain', change: { requester: { ...binding.requester, chain: ['sub-agent'] } } },
    { name: 'the server name [BIND-10]', change: { server: { ...binding.server, name: 'billing-db' } } },
    { name: 'the server identity [SWAP-8]', change: { server: { ...binding.server, identity: 'sha256:ab' } } },
    { name: 'the tool', change: { tool: 'delete_rows' } },
    { name: 'the tool definition [BIND-11]', change: { toolDigest: 'sha256:bc' } },
    { name: 'the extent', change: { bind: 'material' } },
    { name: 'an argument: 6', change: { bound: { n: 6 } } },
    { name: 'an argument: "5" [BIND-04]', change: { bound: { n: '5' } } },
    { name: 'an argument: null [BIND-04]', change: { bound: { n: null } } },
    { name: 'no argument [BIND-04]', change: { bound: {} } },
    { name: 'the resource version [BIND-06]', change: { resourceVersion: 8 } },
    { name: 'the type of the resource version', change: { resourceVersion: '7' } },
    { name: 'no resource version', change: { resourceVersion: null } },
  ])('changes with $name', ({ change }) => {
    expect(bindingDigest({ ...binding, ...change })).not.toBe(bindingDigest(binding));
  });

  test('does not change with the order of members [BIND-03]', () => {
    const ordered = { ...binding, bound: { id: 1, soft: true } };
    const reordered = { ...binding, bound: { soft: true, id: 1 } };
    expect(bindingDigest(reordered)).toBe(bindingDigest(ordered));
  });

  test('does not change with what is no part of a binding', () => {
    const carrier = { ...binding, openedAtMs: 1 };
    expect(bindingDigest(carrier)).toBe(bindingDigest(binding));
  });

  test('a binding without a part has no digest', () => {
    const partial = { ...binding, tool: undefined } as unknown as Binding;
    expect(() => bindingDigest(partial)).toThrow(TypeError);
  });
});

describe('toolDefinitionDigest', () => {
  test('changes with one more sentence in the description, not with the order of members [BIND-11, SWAP-6]', () => {
    const digest = toolDefinitionDigest({ name: 'apply_migration', description: 'Applies it.' });
    expect(toolDefinitionDigest({ description: 'Applies it.', name: 'apply_migration' })).toBe(digest);
    expect(toolDefinitionDigest({ name: 'apply_migration', description: 'Applies it. Twice.' })).not.toBe(digest);
  });

  test('takes the large bounds that schemas of 64-bit integers have', () => {
    expect(toolDefinitionDigest({ inputSchema: { maximum: 2 ** 63 } })).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  test('is never the digest of the bare definition, nor of a binding', () => {
    const tool = { name: 't' };
    expect(toolDefinitionDigest(tool)).toBe('sha256:015adf81e8071ad6ecfe4a263d62b643be9879a303877d6c62962753eb06e696');
    expect(toolDefinitionDigest(tool)).not.toBe(digestOf(tool));
  });
});

test('law: digests and tokens are those of OpenSSL over the canonical text', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = value as JsonValue;
      const text = canonicalJson(json);
      expect(digestOf(json)).toBe(`sha256:${createHash('sha256').update(text).digest('hex')}`);
      const mac = createHmac('sha256', key).update(`["holdpoint/secret/1",${text}]`).digest('hex');
      expect(keyedToken(key, json)).toBe(`secret:${mac.slice(0, 32)}`);
    }),
  );
});
