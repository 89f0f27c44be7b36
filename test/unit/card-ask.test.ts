import { askLines, type CardView } from '../../cli/card-ask';
import { paintFor } from '../../cli/paint';
import type { Ask } from '../../core/evaluation';
import { askOf, POLICY } from '../support/ledger-fixture';

const T0 = Date.UTC(2026, 10, 30, 9);
const MINUTE = 60_000;
const pending = { state: 'pending', level: 0, dueAtMs: T0, closedAtMs: null, closedReason: null } as const;

function linesOf({
  subject = 'someone',
  standing = pending as CardView['standing'],
  selfApproval = false,
  more = {} as Partial<Ask>,
}) {
  const ask = { ...askOf(), ...more, steps: [{ ...askOf().steps[0]!, selfApproval }] };
  const request = {
    ask,
    requester: { subject, agent: 'bot', chain: [] },
    revision: 1,
    bindingDigest: 'd1',
    policyVersion: 1,
    openedAtMs: T0,
    deadlineAtMs: T0 + 30 * MINUTE,
  };
  const view = { request, standing, decisions: [], policy: POLICY, trust: 'signatures', nowMs: T0 + MINUTE };
  return askLines(view as unknown as CardView, paintFor({ color: false }));
}

test('an open request names who may allow it now, its deadline and its escalation', () => {
  expect(linesOf({})).toEqual([
    'rule        production-migrations @ v1, policy 1',
    'an allow    permits this one operation, once',
    'asked       1 of dba (now: r1, r2); 0 of 1 so far',
    'escalates   2026-11-30 09:10:00 UTC to dba-leads',
    'deadline    2026-11-30 09:30:00 UTC (in 29 min), then it expires and is not executed',
  ]);
});

test.each([
  [null, 'sign-in     allowing needs a sign-in of the last 5 min'],
  [['phr'], 'sign-in     allowing needs a sign-in of the last 5 min, by the authentication class phr'],
  [[], 'sign-in     nobody can allow this: its rules ask for authentication classes that no one sign-in has'],
])('says what the rules ask of a sign-in, where they do: classes %j', (acr, line) => {
  expect(linesOf({ more: { signIn: { withinMs: 5 * MINUTE, acr } } })).toContain(line);
});

test('the human behind the request is not among those who may allow it, unless the rule lets them', () => {
  expect(linesOf({ subject: 'user:r1' })).toContain('asked       1 of dba (now: r2); 0 of 1 so far');
  expect(linesOf({ subject: 'user:r1', selfApproval: true })).toContain(
    'asked       1 of dba (now: r1, r2); 0 of 1 so far',
  );
});

test.each([
  ['allowed', 0, []],
  ['expired', 1, ['escalated   2026-11-30 09:10:00 UTC to dba-leads']],
] as const)('an %s request waits for nobody and nothing more', (state, level, escalated) => {
  const standing = { state, level, dueAtMs: null, closedAtMs: T0 + 20 * MINUTE, closedReason: null };
  expect(linesOf({ standing }).slice(2)).toEqual([
    'asked       1 of dba',
    ...escalated,
    `deadline    2026-11-30 09:30:00 UTC; ${state} 2026-11-30 09:20:00 UTC`,
  ]);
});
