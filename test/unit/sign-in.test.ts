import { policyText } from '../../cli/policy-text';
import { open } from '../../core/call';
import type { Decision } from '../../core/decision';
import { parseDecision, signedText } from '../../core/decision-schema';
import { emergencyAsks } from '../../core/emergency';
import { evaluate } from '../../core/evaluate-policy';
import { termsStillCover } from '../../core/grant';
import { judgeDecision, type SignatureCheck } from '../../core/judge-decision';
import type { SignInNeed } from '../../core/policy';
import { signInNeedText, strictestSignIn } from '../../core/sign-in';
import { ORDERS_POLICY, callFacts, edited, policyOf, problemsOf } from '../support/policy-fixture';

const MINUTE = 60_000;
const NOW = Date.UTC(2026, 0, 1, 10);
const FIVE: SignInNeed = { withinMs: 5 * MINUTE, acr: null };
const STRONG: SignInNeed = { withinMs: 5 * MINUTE, acr: ['phr', 'phrh'] };

const asking = (signIn: string): string => edited(ORDERS_POLICY, ['    bind: material', `    signIn: ${signIn}`]);
const SECOND_RULE = (more: string): string =>
  `${asking('{ within: 5m, acr: [phr, phrh] }')}  - { id: second, server: orders-db, approvers: { groups: [dba] }, ${more} }\n`;
const askUnder = (text: string) => {
  const verdict = evaluate(policyOf(text), callFacts(), false);
  if (verdict.access === 'refused' || verdict.ask === null) throw new Error('nobody is asked');
  return verdict.ask;
};

describe('in the policy', () => {
  test.each([
    ['{ within: 5m }', { withinMs: 300_000, acr: null }],
    ['{ within: 30s, acr: [phr] }', { withinMs: 30_000, acr: ['phr'] }],
    ['{ within: 12h, acr: ["urn:example:mfa", phr] }', { withinMs: 43_200_000, acr: ['urn:example:mfa', 'phr'] }],
  ])('signIn: %s is read', (text, signIn) => {
    expect(policyOf(asking(text)).rules[0]?.signIn).toEqual(signIn);
  });

  test.each([
    ['5m', '30:13 POLICY_WRONG_TYPE rules[0].signIn must be a mapping'],
    ['{ acr: [phr] }', '30:5 POLICY_MISSING_KEY rules[0].signIn has no "within"'],
    ['{ within: 5 }', '30:23 POLICY_BAD_VALUE rules[0].signIn.within must be a duration such as 10s, 10m, 2h or 7d'],
    ['{ within: 29s }', '30:23 POLICY_BAD_VALUE rules[0].signIn.within must be 30s to 30d'],
    ['{ within: 31d }', '30:23 POLICY_BAD_VALUE rules[0].signIn.within must be 30s to 30d'],
    ['{ within: 5m, acr: [] }', '30:32 POLICY_BAD_VALUE rules[0].signIn.acr must have at least one entry'],
    [
      '{ within: 5m, acr: [phr, "a b"] }',
      '30:38 POLICY_BAD_VALUE rules[0].signIn.acr[1] must be an authentication class: 1 to 100 visible ASCII characters without spaces, " and \\',
    ],
    [
      '{ within: 5m, fresh: true }',
      '30:27 POLICY_UNKNOWN_KEY rules[0].signIn.fresh is not a key here; allowed: within, acr',
    ],
  ])('signIn: %s is refused at its place', (text, problem) => {
    expect(problemsOf(asking(text))).toEqual([expect.stringContaining(problem)]);
  });

  test('signIn is explained by policy check, also of an emergency rule', () => {
    const text = policyText(
      policyOf(SECOND_RULE('scope: { tools: [apply_migration] }, emergency: true, signIn: { within: 1m }')),
    );
    expect(text).toContain(
      'an allow permits this one operation, once; allowing needs a sign-in of the last 5 min, by one of the authentication classes phr, phrh\n',
    );
    expect(text).toContain('in 15 min at most; allowing needs a sign-in of the last 1 min\n');
  });

  test('a rule that asks for none has none, and the version of before', () => {
    expect(Object.keys(policyOf(ORDERS_POLICY).rules[0] ?? {})).not.toContain('signIn');
    const versions = [
      '{ within: 5m }',
      '{ within: 6m }',
      '{ within: 5m, acr: [a, b] }',
      '{ within: 5m, acr: [b, a] }',
    ].map((text) => policyOf(asking(text)).rules[0]?.version);
    expect(
      new Set([...versions, policyOf(edited(ORDERS_POLICY, ['    bind: material\n', ''])).rules[0]?.version]).size,
    ).toBe(4);
    expect(versions[2]).toBe(versions[3]);
  });

  test.each([
    ['the same tool by name', 'scope: { tools: [apply_migration] }, signIn: { within: 1m, acr: [mfa] }', 132],
    ['all tools', 'scope: all, signIn: { within: 1m, acr: [mfa] }', 107],
    ['destructive tools, of which it is one', 'scope: destructive, signIn: { within: 1m, acr: [mfa] }', 115],
    [
      'the same tool in an emergency',
      'scope: { tools: [apply_migration] }, emergency: true, signIn: { within: 1m, acr: [mfa] }',
      149,
    ],
  ])('two rules for %s with no class in common are a contradiction at its place', (_name, more, column) => {
    expect(problemsOf(SECOND_RULE(more))).toEqual([
      `34:${column} POLICY_CONTRADICTION rule second: it takes the authentication classes mfa, but rule production-migrations, which matches with it, takes phr, phrh: no one sign-in satisfies both, so nobody could allow [Name a class that both of them take.]`,
    ]);
  });

  test.each([
    ['with a class in common', 'scope: all, signIn: { within: 1m, acr: [mfa, phr] }'],
    ['of which one takes any class', 'scope: all, signIn: { within: 1m }'],
    [
      'that may never match together',
      'scope: all, when: { environment: { is: staging } }, signIn: { within: 1m, acr: [mfa] }',
    ],
  ])('two rules %s are none', (_name, more) => {
    expect(problemsOf(SECOND_RULE(more))).toEqual([]);
  });
});

describe('the strictest of several rules', () => {
  test('is the shortest time, and the classes that all of them take', () => {
    expect(askUnder(SECOND_RULE('scope: all, signIn: { within: 2m, acr: [mfa, phrh] }')).signIn).toEqual({
      withinMs: 120_000,
      acr: ['phrh'],
    });
    expect(askUnder(SECOND_RULE('scope: all')).signIn).toEqual(STRONG);
    expect(Object.keys(askUnder(ORDERS_POLICY))).not.toContain('signIn');
  });

  test('that take no class in common lets nobody allow, and the card says so', () => {
    const need = strictestSignIn([STRONG, undefined, { withinMs: MINUTE, acr: ['mfa'] }]);
    expect(need).toEqual({ withinMs: MINUTE, acr: [] });
    expect(signInNeedText(need ?? FIVE)).toBe(
      'nobody can allow this: its rules ask for authentication classes that no one sign-in has',
    );
  });

  test('counts an emergency rule in', () => {
    const policy = policyOf(
      SECOND_RULE('scope: { tools: [apply_migration] }, emergency: true, signIn: { within: 1m, acr: [phr] }'),
    );
    const ask = askUnder(SECOND_RULE('scope: all'));
    expect(emergencyAsks(policy, callFacts(), ask)[0]?.signIn).toEqual({ withinMs: MINUTE, acr: ['phr'] });
  });
});

test.each<[string, SignInNeed | undefined, SignInNeed | undefined, boolean]>([
  ['nothing asked now', FIVE, undefined, true],
  ['the same', STRONG, STRONG, true],
  ['a rule that gained it', undefined, FIVE, false],
  ['a shorter time now', FIVE, { withinMs: MINUTE, acr: null }, false],
  ['a longer time now', FIVE, { withinMs: 6 * MINUTE, acr: null }, true],
  ['a class asked for now', FIVE, STRONG, false],
  ['a class taken no more', STRONG, { withinMs: 5 * MINUTE, acr: ['phr'] }, false],
  ['one class more', { withinMs: 5 * MINUTE, acr: ['phr'] }, STRONG, true],
  ['any class now', STRONG, FIVE, true],
])('what was granted covers a changed rule: %s', (_name, granted, now, covers) => {
  const ask = askUnder(ORDERS_POLICY);
  const [then, asks] = [granted, now].map((signIn) => ({ ...ask, ...(signIn !== undefined && { signIn }) }));
  expect(termsStillCover(then ?? ask, asks ?? ask)).toBe(covers);
});

describe('an allow', () => {
  const policy = policyOf(asking('{ within: 5m }'));
  const judge = (
    signIn: SignInNeed,
    given: Partial<Decision>,
    at: { signature?: SignatureCheck; nowMs?: number; trust?: 'namespace' } = {},
  ) => {
    const ask = { ...askUnder(ORDERS_POLICY), signIn };
    const { signature = 'vouched', nowMs = NOW, trust = 'signatures' } = at;
    const requester = { subject: 'user:amira', agent: 'bot', chain: [] };
    const life = open({ revision: 1, digest: 'd1', schedule: ask }, NOW - MINUTE);
    const decision: Decision = {
      ...{ v: 1, decisionId: 'x', operationId: 'op_1', revision: 1, digest: 'd1', answer: 'allow', reviewer: 'dana' },
      ...{ channel: 'console', ...given },
    };
    return judgeDecision({ life, ask, requester, policy, trust, counted: [] }, decision, { signature, nowMs });
  };
  const NEEDS = 'allowing needs a sign-in of the last 5 min';
  const CLASSES = `${NEEDS}, by one of the authentication classes phr, phrh`;

  test.each([
    ['of this moment', FIVE, { atMs: NOW }],
    ['exactly as old as the rule lets it be', FIVE, { atMs: NOW - 5 * MINUTE }],
    ['as far ahead as clocks may be apart', FIVE, { atMs: NOW + MINUTE }],
    ['by one of the classes', STRONG, { atMs: NOW, acr: 'phrh' }],
  ])('counts by a sign-in %s', (_name, need, signIn) => {
    expect(judge(need, { signIn })).toMatchObject({ code: 'accepted', effect: 'allow' });
  });

  test.each([
    ['that is too old', FIVE, { atMs: NOW - 5 * MINUTE - 1 }, `${NEEDS}, and this one is 5 min old; sign in again`],
    [
      'that is dated ahead',
      FIVE,
      { atMs: NOW + MINUTE + 1 },
      `${NEEDS}, and this one is dated 1 min ahead of the ledger's clock; correct the clocks, then sign in again`,
    ],
    ['by another class', STRONG, { atMs: NOW, acr: 'pwd' }, `${CLASSES}, and this one is by pwd; sign in again`],
    ['of no class', STRONG, { atMs: NOW }, `${CLASSES}, and this one states no class; sign in again`],
    [
      'where no class is left',
      { withinMs: MINUTE, acr: [] },
      { atMs: NOW, acr: 'phr' },
      'nobody can allow this: its rules ask for authentication classes that no one sign-in has; deny it, or correct the policy',
    ],
    [
      'that nobody attests',
      FIVE,
      undefined,
      `${NEEDS}, and the console attests none: an API token has none, and nor has a session whose provider did not say when; sign in to the console again and allow it there`,
    ],
  ])('does not count by a sign-in %s; a denial does', (_name, need, signIn, detail) => {
    const given = signIn === undefined ? {} : { signIn };
    expect(judge(need, given)).toEqual({ code: 'signInNeeded', detail, effect: 'none' });
    expect(judge(need, { ...given, answer: 'deny' })).toMatchObject({ code: 'accepted', effect: 'deny' });
  });

  test('signed by a key of the person is as good as a sign-in of that moment, and of no class, whatever it says', () => {
    const own = { signature: 'valid' } as const;
    expect(judge(FIVE, {}, own)).toMatchObject({ code: 'accepted' });
    expect(judge(FIVE, { signIn: { atMs: 0 } }, own)).toMatchObject({ code: 'accepted' });
    expect(judge(STRONG, { signIn: { atMs: NOW, acr: 'phr' } }, own)).toMatchObject({
      code: 'signInNeeded',
      detail: `${CLASSES}, which a personal key does not prove; allow it in the console`,
    });
  });

  test('that is unsigned never counts, also where unsigned ones do, and whatever it says', () => {
    const unsigned = { signature: 'absent', trust: 'namespace' } as const;
    const judged = judgeDecision(
      {
        ...{ life: open({ revision: 1, digest: 'd1', schedule: askUnder(ORDERS_POLICY) }, NOW), trust: 'namespace' },
        ...{ ask: { ...askUnder(ORDERS_POLICY), signIn: FIVE }, policy: policyOf(withoutKeys()), counted: [] },
        requester: { subject: 'user:amira', agent: 'bot', chain: [] },
      },
      {
        ...{ v: 1, decisionId: 'x', operationId: 'op_1', revision: 1, digest: 'd1', answer: 'allow' },
        ...{ reviewer: 'dana', channel: 'cli', signIn: { atMs: NOW } },
      },
      { signature: 'invalid', nowMs: NOW },
    );
    expect(judged.code).toBe('signInNeeded');
    expect(judge(FIVE, { signIn: { atMs: NOW } }, unsigned)).toMatchObject({
      code: 'signInNeeded',
      detail: `${NEEDS}, and an unsigned decision proves none; allow it in a console that signs, or sign it with a key of your own`,
    });
  });

  test('of somebody who could not allow anyway is told so first', () => {
    expect(judge(FIVE, { minutes: 5 }).code).toBe('cannotWiden');
    expect(judge(FIVE, { reviewer: 'amira' }).code).toBe('notAReviewer');
  });
});

function withoutKeys(): string {
  return ORDERS_POLICY.replaceAll(/, key: \[?ed25519:A+E?\]?/g, '');
}

describe('the attestation in a decision', () => {
  const decision: Decision = {
    ...{ v: 1, decisionId: 'x', operationId: `op_${'0'.repeat(40)}`, revision: 1, digest: `sha256:${'0'.repeat(64)}` },
    ...{ answer: 'allow', reviewer: 'dana', channel: 'console' },
  };

  test('is among the signed bytes; one without it has the bytes that it always had', () => {
    const zeros = '0'.repeat(64);
    expect(signedText(decision)).toBe(
      `["holdpoint/decision/1",{"answer":"allow","decisionId":"x","digest":"sha256:${zeros}","operationId":"op_${'0'.repeat(40)}","reviewer":"dana","revision":1,"v":1}]`,
    );
    expect(signedText({ ...decision, signIn: { atMs: 7, acr: 'phr' } })).toContain('"signIn":{"acr":"phr","atMs":7}');
  });

  test.each([
    ['a time that is no number', { atMs: '7' }],
    ['a time with a fraction', { atMs: 7.5 }],
    ['a time before all times', { atMs: -1 }],
    ['no time', { acr: 'phr' }],
    ['a class that is no text', { atMs: 7, acr: ['phr'] }],
    ['more than that', { atMs: 7, mfa: true }],
    ['nothing', null],
  ])('with %s makes the whole decision malformed', (_name, signIn) => {
    expect(parseDecision({ ...decision, signIn })).toMatchObject({
      ok: false,
      detail: expect.stringContaining('signIn') as string,
    });
    expect(parseDecision({ ...decision, signIn: { atMs: 7 } }).ok).toBe(true);
  });
});
