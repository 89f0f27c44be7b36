import { generateKeyPairSync } from 'node:crypto';
import type { Decision } from '../../core/decision';
import { parseDecision, signedText } from '../../core/decision-schema';
import type { Policy } from '../../core/policy';
import { generateReviewerKey, publicKeyOf, signDecision } from '../../client/sign-decision';
import { checkSignature } from '../../ledger/signature';

const decision: Decision = {
  v: 1,
  decisionId: 'd1',
  operationId: `op_${'a'.repeat(40)}`,
  revision: 1,
  digest: `sha256:${'b'.repeat(64)}`,
  answer: 'allow',
  reviewer: 'dana',
  channel: 'cli',
};

test('a decision is accepted as it is', () => {
  expect(parseDecision(decision)).toEqual({ ok: true, decision });
});

test.each([
  ['an empty answer', { ...decision, answer: '' }],
  ['0', { ...decision, answer: 0 }],
  ['false', { ...decision, answer: false }],
  ['null', { ...decision, answer: null }],
  ['"yes"', { ...decision, answer: 'yes' }],
  ['["allow"]', { ...decision, answer: ['allow'] }],
  ['no operation id [TURN-12]', { ...decision, operationId: undefined }],
  ['arguments of its own [BIND-13]', { ...decision, arguments: { environment: 'staging' } }],
  ['a tool of its own [BIND-13]', { ...decision, tool: 'read_rows' }],
  ['a window as an object [SWAP-10]', { ...decision, minutes: { minutes: 60 } }],
  ['another version', { ...decision, v: 2 }],
  ['an undecodable marker [ENG-01]', { undecodable: true, reason: 'broken' }],
])('a decision with %s is malformed [EVT-06]', (_name, message) => {
  expect(parseDecision(message).ok).toBe(false);
});

test.each([
  ['null', null],
  ['42', 42],
  ['1 MB of text', 'x'.repeat(1_000_000)],
])('the message %s is malformed [EVT-06]', (_name, message) => {
  expect(parseDecision(message).ok).toBe(false);
});

describe('signatures', () => {
  const { privateKey, publicKey } = generateReviewerKey();
  const other = generateReviewerKey();
  const policy = (keys: readonly string[]): Policy => ({
    v: 1,
    trust: null,
    people: {
      dana: { name: 'dana', groups: [], keys, subjects: [] },
      eli: { name: 'eli', groups: [], keys: [other.publicKey], subjects: [] },
    },
    servers: {},
    access: [],
    rules: [],
  });
  const signed = signDecision(decision, privateKey);

  test('by the key of the console are vouched for, for the people of the policy and nobody else', () => {
    const console = generateReviewerKey();
    const withConsole = {
      ...policy([]),
      console: { keys: [console.publicKey], operators: { groups: [], people: [] } },
    };
    expect(checkSignature(signDecision(decision, console.privateKey), withConsole)).toBe('vouched');
    expect(checkSignature(signDecision(decision, console.privateKey), policy([]))).toBe('invalid');
    const stranger = { ...decision, reviewer: 'mallory' };
    expect(checkSignature(signDecision(stranger, console.privateKey), withConsole)).toBe('invalid');
    const altered = { ...signDecision(decision, console.privateKey), answer: 'deny' as const };
    expect(checkSignature(altered, withConsole)).toBe('invalid');
  });

  test('by the key on record are valid, whatever channel the decision took', () => {
    expect(checkSignature(signed, policy([publicKey]))).toBe('valid');
    expect(checkSignature({ ...signed, channel: 'signal' }, policy([publicKey]))).toBe('valid');
  });

  test.each([
    ['another answer', { ...signed, answer: 'deny' as const }],
    ['another reviewer over the same key [FORGE-14]', { ...signed, reviewer: 'eli' }],
    ['another revision', { ...signed, revision: 2 }],
    ['another digest', { ...signed, digest: `sha256:${'c'.repeat(64)}` }],
    ['added minutes', { ...signed, minutes: 60 }],
    ['an added reason', { ...signed, reason: 'x' }],
    ['an empty signature', { ...signed, signature: '' }],
    ['a reviewer named after a property of objects', { ...signed, reviewer: 'constructor' }],
  ])('do not hold for %s', (_name, altered) => {
    expect(checkSignature(altered, policy([publicKey]))).toBe('invalid');
  });

  test('by a key that the policy does not list are invalid [FORGE-14]', () => {
    expect(checkSignature(signDecision(decision, other.privateKey), policy([publicKey]))).toBe('invalid');
    expect(checkSignature(signed, policy([]))).toBe('invalid');
  });

  test('by any of several keys of a person are valid', () => {
    expect(checkSignature(signed, policy([other.publicKey, publicKey]))).toBe('valid');
  });

  test('cover a text of their own kind', () => {
    expect(signedText(decision)).toMatch(/^\["holdpoint\/decision\/1",\{"answer":"allow"/);
  });

  test('the public form of a key is 32 bytes in base64url', () => {
    expect(publicKeyOf(generateKeyPairSync('ed25519').privateKey)).toMatch(/^ed25519:[\w-]{43}$/);
  });
});
