import { open, transition, type CallLife } from '../../core/call';
import type { Decision } from '../../core/decision';
import type { Ask } from '../../core/evaluation';
import {
  enoughReviewers,
  judgeDecision,
  type CountedDecision,
  type Judgement,
  type SignatureCheck,
} from '../../core/judge-decision';
import type { Person, Policy } from '../../core/policy';

const MINUTE = 60_000;
const person = (name: string, groups: string[], subjects = [name, `user:${name}`]): Person => ({
  name,
  groups,
  keys: [],
  subjects,
});
const policy: Policy = {
  v: 1,
  trust: null,
  people: {
    r1: person('r1', ['dba']),
    r2: person('r2', ['dba']),
    l1: person('l1', ['dba-leads']),
    u1: person('u1', ['dba']),
    viewer: person('viewer', ['platform']),
  },
  servers: {},
  access: [],
  rules: [],
};
const ask: Ask = {
  rule: { id: 'production-migrations', version: 'v1' },
  matched: [],
  steps: [{ kind: 'rule', approvers: { groups: ['dba'], people: [], quorum: 1 }, selfApproval: false }],
  bind: 'material',
  validity: { kind: 'once' },
  escalate: [{ afterMs: 10 * MINUTE, to: { groups: ['dba-leads'], people: [] } }],
  deadline: { afterMs: 30 * MINUTE, then: 'expire', remindEveryMs: null },
  emergency: false,
};
const quorum2: Ask = {
  ...ask,
  steps: [{ kind: 'rule', approvers: { groups: ['dba'], people: [], quorum: 2 }, selfApproval: false }],
};
const pending = open({ revision: 1, digest: 'd1', schedule: ask }, 0);
const judgement: Judgement = {
  life: pending,
  ask,
  requester: { subject: 'someone', agent: 'bot', chain: [] },
  policy,
  trust: 'namespace',
  counted: [],
};
const decision = (more: Partial<Decision> = {}): Decision => ({
  v: 1,
  decisionId: 'x',
  operationId: 'op_1',
  revision: 1,
  digest: 'd1',
  answer: 'allow',
  reviewer: 'r1',
  channel: 'update',
  ...more,
});
const counted = (reviewer: string, answer: 'allow' | 'deny' = 'allow'): CountedDecision => ({
  decisionId: reviewer,
  reviewer,
  answer,
  verified: true,
  minutes: null,
  emergency: null,
});
const judge = (
  changes: Partial<Judgement>,
  more: Partial<Decision> = {},
  at: { signature?: SignatureCheck; nowMs?: number } = {},
) =>
  judgeDecision({ ...judgement, ...changes }, decision(more), {
    signature: at.signature ?? 'absent',
    nowMs: at.nowMs ?? 1_000,
  });
const ended = (type: 'allow' | 'deny'): CallLife => transition(pending, { type, revision: 1, digest: 'd1' }, 1);

test('an approver allows', () => {
  expect(judge({})).toMatchObject({ code: 'accepted', effect: 'allow' });
});

test.each([
  ['a stranger', { reviewer: 'nobody' }],
  ['a signed-in viewer in no approver group [FORGE-6]', { reviewer: 'viewer' }],
  ['a lead before the escalation [TIME-03]', { reviewer: 'l1' }],
  ['the agent itself [FORGE-8] [NEST-05]', { reviewer: 'bot' }],
] as const)('%s is no reviewer, for allow and for deny', (_name, more) => {
  expect(judge({}, more).code).toBe('notAReviewer');
  expect(judge({}, { ...more, answer: 'deny' }).code).toBe('notAReviewer');
});

test('a lead decides after the escalation [TIME-03]', () => {
  const life = transition(pending, { type: 'wake' }, 10 * MINUTE);
  expect(judge({ life }, { reviewer: 'l1' }, { nowMs: 12 * MINUTE })).toMatchObject({
    code: 'accepted',
    effect: 'allow',
  });
});

describe('the requester', () => {
  test('cannot allow the own call [WHO-02] [FORGE-9]', () => {
    expect(judge({ requester: { subject: 'u1', agent: 'bot', chain: [] } }, { reviewer: 'u1' }).code).toBe(
      'selfApproval',
    );
  });
  test('is compared through the delegation chain [NEST-06] [FORGE-10]', () => {
    const requester = { subject: 'service', agent: 'sub', chain: ['user:u1', 'bot', 'sub'] };
    expect(judge({ requester }, { reviewer: 'u1' }).code).toBe('selfApproval');
  });
  test('can deny the own call [WHO-03]', () => {
    const requester = { subject: 'u1', agent: 'bot', chain: [] };
    expect(judge({ requester }, { reviewer: 'u1', answer: 'deny' })).toMatchObject({
      code: 'accepted',
      effect: 'deny',
    });
  });
  test('can allow where the rule says so in plain words [WHO-04]', () => {
    const steps = [
      { kind: 'rule', approvers: { groups: ['dba'], people: [], quorum: 1 }, selfApproval: true },
    ] as const;
    const requester = { subject: 'u1', agent: 'bot', chain: [] };
    expect(judge({ ask: { ...ask, steps }, requester }, { reviewer: 'u1' }).code).toBe('accepted');
  });
});

describe('signatures', () => {
  const withKey: Policy = { ...policy, people: { ...policy.people, r1: { ...person('r1', ['dba']), keys: ['k'] } } };

  test.each([
    ['absent where signatures are required [WHO-16]', 'signatures', 'absent', 'badSignature'],
    ['by another key [FORGE-14]', 'signatures', 'invalid', 'badSignature'],
    ['by another key even where the namespace is trusted [FORGE-14]', 'namespace', 'invalid', 'badSignature'],
    ['absent where the namespace is trusted [WHO-16]', 'namespace', 'absent', 'accepted'],
    ['valid', 'signatures', 'valid', 'accepted'],
  ] as const)('%s', (_name, trust, signature, code) => {
    expect(judge({ trust, policy: withKey }, {}, { signature }).code).toBe(code);
  });

  test('of a person without a key count as none: enough where the namespace is trusted, and else they say what to add', () => {
    expect(judge({ trust: 'namespace' }, {}, { signature: 'invalid' }).code).toBe('accepted');
    expect(judge({ trust: 'signatures' }, {}, { signature: 'invalid' })).toMatchObject({
      code: 'badSignature',
      detail: 'the active policy lists no key of r1; add the public half of the signing key to people, and apply it',
    });
  });

  test('of somebody whom the policy does not list are not looked at', () => {
    for (const signature of ['absent', 'invalid'] as const)
      expect(judge({ trust: 'signatures' }, { reviewer: 'nobody' }, { signature }).code).toBe('notAReviewer');
  });

  test('of a requester who confirms, and is in no policy, count as none', () => {
    const confirm: Ask = { ...ask, steps: [{ kind: 'confirm', subject: 'someone' }] };
    const by = { reviewer: 'someone' };
    expect(judge({ ask: confirm, trust: 'namespace' }, by, { signature: 'invalid' }).code).toBe('accepted');
    expect(judge({ ask: confirm, trust: 'signatures' }, by, { signature: 'invalid' }).code).toBe('badSignature');
  });
});

describe('what is open', () => {
  test.each([
    ['another revision is stale [BIND-07]', {}, { revision: 2 }, 'stale'],
    ['another digest is stale', {}, { digest: 'd2' }, 'stale'],
    [
      'a deny after an allow is a conflict',
      { life: ended('allow'), counted: [counted('r1')] },
      { reviewer: 'r2', answer: 'deny' },
      'conflict',
    ],
    [
      'an allow after a deny is a conflict [DENY-07]',
      { life: ended('deny'), counted: [counted('r1', 'deny')] },
      {},
      'conflict',
    ],
    [
      'an equal answer of another is alreadyDecided [EXEC-02]',
      { life: ended('allow'), counted: [counted('r1')] },
      { reviewer: 'r2' },
      'alreadyDecided',
    ],
    [
      'the same answer of the same person is accepted again [EXEC-01] [WEB-7]',
      { life: ended('allow'), counted: [counted('r1')] },
      {},
      'accepted',
    ],
    [
      'an allow after a withdrawal is a conflict [DENY-06]',
      { life: transition(pending, { type: 'withdraw' }, 1) },
      {},
      'conflict',
    ],
    ['an allow after expiry is late [TIME-11]', { life: { ...pending, status: 'expired' as const } }, {}, 'late'],
  ] as const)('%s', (_name, changes, more, code) => {
    expect(judge(changes, more)).toMatchObject({ code, effect: 'none' });
  });

  test.each([
    [30 * MINUTE - 1, 'accepted'],
    [30 * MINUTE, 'late'],
    [30 * MINUTE + 27_000, 'late'],
  ])('an allow at %d ms is %s [TIME-11] [TIME2-2]', (nowMs, code) => {
    expect(judge({}, {}, { nowMs }).code).toBe(code);
  });

  test.each([
    ['an allow', { life: ended('allow'), counted: [counted('r1')] }, 'allow', 'allowed'],
    ['a deny', { life: ended('deny'), counted: [counted('r1', 'deny')] }, 'deny', 'denied; this request is closed'],
    ['one of two allows', { counted: [counted('r1')] }, 'allow', 'allow counted; more approvals are needed'],
    [
      'an allow that was not enough in time',
      { life: { ...pending, status: 'expired' as const }, counted: [counted('r1')] },
      'allow',
      'this decision was counted; the request is expired',
    ],
  ] as const)(
    '%s that arrives again is answered in the words of the first time [EXEC-01]',
    (_name, changes, answer, detail) => {
      expect(judge(changes, { answer })).toEqual({ code: 'accepted', detail, effect: 'none' });
    },
  );

  test('the loser of a race is told who won', () => {
    expect(judge({ life: ended('deny'), counted: [counted('r2', 'deny')] }).detail).toContain('denied by r2');
  });
});

test('the same answer with other minutes is a conflict, not an acknowledgement', () => {
  const window = { kind: 'window', uses: null, durationMs: 60 * MINUTE, total: {} } as const;
  const changes = { ask: { ...quorum2, validity: window }, counted: [counted('r1')] };
  expect(judge(changes, { minutes: 5 }).code).toBe('conflict');
  expect(judge(changes).code).toBe('accepted');
});

test('a reviewer cannot widen a rule [SWAP-10]', () => {
  expect(judge({}, { minutes: 60 })).toMatchObject({
    code: 'cannotWiden',
    detail: expect.stringContaining('it gives this one call and no window, so leave the minutes out') as string,
  });
});

describe('a quorum of two', () => {
  test('counts a person once, by whatever channel [WHO-15] [FORGE-5]', () => {
    expect(judge({ ask: quorum2, counted: [counted('r1')] }, { channel: 'cli' })).toMatchObject({
      code: 'accepted',
      effect: 'none',
    });
  });
  test('closes with the second person', () => {
    expect(judge({ ask: quorum2 })).toMatchObject({ effect: 'count' });
    expect(judge({ ask: quorum2, counted: [counted('r1')] }, { reviewer: 'r2' })).toMatchObject({ effect: 'allow' });
  });
  test('is closed by one deny [DENY-05]', () => {
    expect(judge({ ask: quorum2, counted: [counted('r1')] }, { reviewer: 'r2', answer: 'deny' })).toMatchObject({
      effect: 'deny',
    });
  });
  test('does not count who left the group since [FORGE-12]', () => {
    const { r1: _left, ...people } = policy.people;
    expect(
      judge({ ask: quorum2, policy: { ...policy, people }, counted: [counted('r1')] }, { reviewer: 'r2' }),
    ).toMatchObject({ effect: 'count' });
  });
});

describe('a confirmation and a rule on one request', () => {
  const both: Ask = { ...ask, steps: [{ kind: 'confirm', subject: 'u1' }, ...ask.steps] };
  test('asks the own human first', () => {
    const early = judge({ ask: both, requester: { subject: 'u1', agent: 'bot', chain: [] } }, { reviewer: 'r1' });
    expect(early.code).toBe('notAReviewer');
    expect(early.detail).toContain("u1's own confirmation");
  });
  test('is not allowed by the own human alone', () => {
    const requester = { subject: 'u1', agent: 'bot', chain: [] };
    expect(judge({ ask: both, requester }, { reviewer: 'u1' })).toMatchObject({ effect: 'count' });
    expect(judge({ ask: both, requester, counted: [counted('u1')] }, { reviewer: 'r1' })).toMatchObject({
      effect: 'allow',
    });
  });
  test('takes one answer of a person who is eligible for both', () => {
    const steps = [
      { kind: 'confirm', subject: 'u1' },
      { kind: 'rule', approvers: { groups: ['dba'], people: [], quorum: 1 }, selfApproval: true },
    ] as const;
    const requester = { subject: 'u1', agent: 'bot', chain: [] };
    expect(judge({ ask: { ...ask, steps }, requester }, { reviewer: 'u1' })).toMatchObject({ effect: 'allow' });
  });
});

test('a request whose only approver stands behind it has too few reviewers', () => {
  const { u1, viewer } = policy.people;
  const alone: Policy = { ...policy, people: { ...(u1 && { u1 }), ...(viewer && { viewer }) } };
  const requester = { subject: 'u1', agent: 'bot', chain: [] };
  expect(enoughReviewers({ life: pending, ask, requester, policy: alone }, 'namespace')).toBe(false);
  expect(enoughReviewers({ life: pending, ask, requester, policy }, 'namespace')).toBe(true);
});
