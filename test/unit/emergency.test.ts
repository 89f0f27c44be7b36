import { open, transition } from '../../core/call';
import type { Decision } from '../../core/decision';
import { askLike, emergencyAsks, judgeEmergency, type EmergencyDecision } from '../../core/emergency';
import { evaluate } from '../../core/evaluate-policy';
import { openSteps, type CountedDecision, type Judgement } from '../../core/judge-decision';
import type { Policy } from '../../core/policy';
import { emergencyReviewers } from '../../core/retrospective';
import { edited, field, policyOf } from '../support/policy-fixture';

const POLICY = `people:
  dana: { groups: [dba] }
  eli: { groups: [dba, oncall] }
  olu: { groups: [oncall] }
  uma: { groups: [oncall] }
  amira: {}
servers:
  orders-db:
    stdio: { command: node }
    tools:
      wipe: { material: { rows: { at: /rows, as: number }, id: { at: /id, as: text } } }
      other: {}
access:
  - { subjects: ['*'], agents: ['*'], server: orders-db, tools: ['*'] }
rules:
  - id: wipes
    server: orders-db
    scope: destructive
    approvers: { groups: [dba], quorum: 2 }
    validity: { minutes: 60, total: { rows: 100 } }
    bind: material
    escalate: [{ after: 5m, to: { people: [uma] } }]
  - id: break-glass
    server: orders-db
    scope: { tools: [wipe] }
    approvers: { groups: [oncall] }
    validity: { minutes: 15 }
    emergency: { reviewWithin: 8h }
`;
const policy = policyOf(POLICY);
const facts = { server: 'orders-db', tool: 'wipe', material: [field('rows', 5, 'number'), field('id', 'a')] };
const requester = { subject: 'user:amira', agent: 'bot', chain: [] };
const asked = (text = POLICY, given = facts) => {
  const hints = { readOnly: null, destructive: null };
  const verdict = evaluate(policyOf(text), { ...given, requester, hints }, false);
  if (verdict.access === 'refused' || verdict.ask === null) throw new Error('nobody is asked');
  return verdict.ask;
};
const ask = asked();
const judgement: Judgement = {
  life: open({ revision: 1, digest: 'd1', schedule: ask }, 0),
  ...{ ask, requester, policy, trust: 'namespace', counted: [] },
};
const decision = (more: Partial<Decision> = {}, emergency = { rule: 'break-glass', ticket: 'INC-7' }) =>
  ({
    ...{ v: 1, decisionId: 'x', operationId: 'op_1', revision: 1, digest: 'd1', answer: 'allow', reviewer: 'olu' },
    ...{ channel: 'cli', reason: 'the site is down', ...more, emergency },
  }) as EmergencyDecision;
const judge = (given: EmergencyDecision, more: Partial<Judgement> = {}, at = {}) =>
  judgeEmergency({ ...judgement, ...more }, given, { signature: 'absent', nowMs: 1, facts, overdue: null, ...at });
const allowed = (reviewer: string, emergency: string | null = 'break-glass'): CountedDecision => ({
  ...{ decisionId: reviewer, reviewer, answer: 'allow', verified: true, minutes: null, emergency },
});

test('an emergency asks its own approvers in place of those of the rule, for the shortest of both', () => {
  expect(emergencyAsks(policy, facts, ask)).toEqual([
    {
      ...ask,
      rule: { id: 'break-glass', version: policy.rules[1]?.version },
      matched: [...ask.matched, { id: 'break-glass', version: policy.rules[1]?.version, scope: 'tools' }],
      steps: [{ kind: 'rule', approvers: { groups: ['oncall'], people: [], quorum: 1 }, selfApproval: false }],
      validity: { kind: 'window', uses: null, durationMs: 900_000, total: { rows: 100 } },
      escalate: [],
      emergency: true,
    },
  ]);
});

test('an allow under an emergency rule allows at once', () => {
  expect(judge(decision())).toMatchObject({ judged: { code: 'accepted', effect: 'allow' }, ask: { emergency: true } });
});

test.each([
  ['without a ticket', decision({}, { rule: 'break-glass', ticket: ' ' }), 'an emergency needs the id of its ticket'],
  ['with an invisible reason', decision({ reason: '\u200b' }), 'an emergency needs a reason'],
  [
    'under an ordinary rule',
    decision({ reviewer: 'eli' }, { rule: 'wipes', ticket: 'T' }),
    'rule wipes is no emergency rule',
  ],
  ['under no rule', decision({ reviewer: 'eli' }, { rule: 'nil', ticket: 'T' }), 'the policy has no rule nil'],
  ['as a denial', decision({ answer: 'deny' }), 'a denial needs no emergency: leave it out'],
])('an emergency %s is refused, with its reason [TIME2-14]', (_name, given, detail) => {
  expect(judge(given).judged).toEqual({ code: 'emergencyRefused', detail, effect: 'none' });
});

test('an emergency for a tool that its rule does not name is refused, with its reason [TIME2-14]', () => {
  const { judged } = judge(decision(), {}, { facts: { ...facts, tool: 'other' } });
  expect(judged).toMatchObject({
    code: 'emergencyRefused',
    detail: 'emergency rule break-glass does not name orders-db/other',
  });
});

test('an emergency for 16 minutes is refused, with its reason [TIME2-14]', () => {
  expect(judge(decision({ minutes: 16 })).judged).toEqual({
    ...{ code: 'cannotWiden', effect: 'none' },
    detail: 'a reviewer can shorten what the rule gives, not widen it: it gives 15 minutes at most',
  });
});

test('while the review of an emergency is overdue, the next is refused [TIME2-15]', () => {
  const overdue = { id: 'gr_1.1', dueAtMs: Date.UTC(2026, 0, 1) };
  expect(judge(decision(), {}, { overdue }).judged).toEqual({
    ...{ code: 'emergencyRefused', effect: 'none' },
    detail: 'the review of emergency gr_1.1 is overdue since 2026-01-01T00:00:00.000Z; close it first',
  });
});

test('who is not named by the emergency rule learns nothing, and unsigned words do not count', () => {
  expect(judge(decision({ reviewer: 'dana' })).judged.code).toBe('notAReviewer');
  expect(judge(decision({ reviewer: 'olu' }, { rule: 'nil', ticket: 'T' })).judged.code).toBe('notAReviewer');
  expect(judge(decision(), { trust: 'signatures' }).judged.code).toBe('badSignature');
});

test('nobody allows their own call in an emergency', () => {
  expect(judge(decision({ reviewer: 'olu' }), { requester: { ...requester, subject: 'olu' } }).judged.code).toBe(
    'selfApproval',
  );
});

test('an emergency that nobody could review afterwards is refused', () => {
  const alone = policyOf(
    edited(POLICY, ['groups: [dba], quorum: 2', 'people: [olu]'], ['people: [uma]', 'people: [olu]']),
  );
  const only = asked(edited(POLICY, ['groups: [dba], quorum: 2', 'people: [olu]'], ['people: [uma]', 'people: [olu]']));
  expect(judge(decision(), { policy: alone, ask: only }).judged.detail).toBe(
    'nobody who is skipped is left to review it afterwards',
  );
});

test('a condition of an emergency rule on a missing or another value does not hold', () => {
  const text = edited(POLICY, [
    'scope: { tools: [wipe] }',
    'scope: { tools: [wipe] }\n    when: { rows: { atMost: 5 } }',
  ]);
  const under = (material: typeof facts.material) => emergencyAsks(policyOf(text), { ...facts, material }, ask).length;
  expect([under(facts.material), under([field('rows', 6, 'number')]), under([])]).toEqual([1, 0, 0]);
});

test('where only the requester themselves is asked, there is nobody to skip', () => {
  expect(emergencyAsks(policy, facts, { ...ask, rule: null })).toEqual([]);
  const own = { ...ask, rule: null, steps: [{ kind: 'confirm', subject: 'olu' }] } as const;
  expect(judge(decision(), { ask: own }).judged.detail).toBe(
    'only the requester themselves is asked: there is nobody to skip',
  );
});

test('the requester’s own human is still asked in an emergency', () => {
  const confirming = { ...ask, steps: [{ kind: 'confirm', subject: 'user:amira' } as const, ...ask.steps] };
  expect(emergencyAsks(policy, facts, confirming)[0]?.steps.map(({ kind }) => kind)).toEqual(['confirm', 'rule']);
  expect(judge(decision(), { ask: confirming }).judged.effect).toBe('none');
});

test('an allow under an emergency rule does not count for the ordinary question, nor the other way round', () => {
  const [under] = emergencyAsks(policy, facts, ask);
  const open = (of: typeof ask, counted: readonly CountedDecision[]) =>
    openSteps({ ...judgement, ask: of }, counted).length;
  expect(open(ask, [allowed('eli'), allowed('dana')])).toBe(1);
  expect(open(ask, [allowed('eli', null), allowed('dana', null)])).toBe(0);
  expect(open(under ?? ask, [allowed('eli', null)])).toBe(1);
  expect(open(under ?? ask, [allowed('eli', 'another')])).toBe(1);
  expect(open(under ?? ask, [allowed('eli')])).toBe(0);
});

test('the same emergency again is counted once; another answer of the same person is a conflict', () => {
  const life = transition(judgement.life, { type: 'allow', revision: 1, digest: 'd1' }, 1);
  expect(judge(decision(), { life, counted: [allowed('olu')] }).judged).toMatchObject({
    code: 'accepted',
    effect: 'none',
  });
  expect(judge(decision({ reviewer: 'eli' }), { counted: [allowed('eli', null)] }).judged).toEqual({
    ...{ code: 'conflict', effect: 'none' },
    detail: "eli's allow is on record as an ordinary one; that stands",
  });
});

test('a grant is measured by the rule under which it was given, as it is now', () => {
  const [under] = emergencyAsks(policy, facts, ask);
  if (under === undefined) throw new Error('no emergency');
  expect(askLike(ask, ask, [under])).toBe(ask);
  expect(askLike(under, ask, [under])).toBe(under);
  expect(askLike(under, ask, [])).toBeNull();
});

test('those who were skipped review an emergency, but not who allowed it or stands behind it', () => {
  const emergency = { ask, requester, deciders: ['eli'] };
  expect(emergencyReviewers(policy, emergency)).toEqual(['dana', 'uma']);
  expect(emergencyReviewers(policy, { ...emergency, requester: { ...requester, subject: 'uma' } })).toEqual(['dana']);
});

test('where none of them is left, the operators of the console do', () => {
  const operators: Policy = { ...policy, console: { keys: [], operators: { groups: [], people: ['amira', 'olu'] } } };
  const emergency = { ask: { ...ask, steps: [], escalate: [] }, requester, deciders: ['eli'] };
  expect(emergencyReviewers(operators, emergency)).toEqual(['olu']);
  expect(emergencyReviewers(policy, emergency)).toEqual([]);
});
