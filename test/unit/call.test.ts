import fc from 'fast-check';
import { LONGEST_WAIT_MS, open, transition, type CallEvent, type CallLife } from '../../core/call';

const MINUTE = 60_000;
const schedule = {
  escalate: [{ afterMs: 10 * MINUTE, to: { groups: ['dba-leads'], people: [] } }],
  deadline: { afterMs: 30 * MINUTE, then: 'expire', remindEveryMs: null },
} as const;
const pending = open({ revision: 1, digest: 'd1', schedule }, 0);
const allow: CallEvent = { type: 'allow', revision: 1, digest: 'd1' };
const allowed = transition(pending, allow, 1);

describe('a pending request', () => {
  test.each([
    { name: 'allows the same digest in time', event: allow, nowMs: 30 * MINUTE - 1, status: 'allowed' },
    {
      name: 'expires at the deadline, not after it [TIME-11] [TIME2-2]',
      event: allow,
      nowMs: 30 * MINUTE,
      status: 'expired',
    },
    {
      name: 'is expired for an allow 27 s late [TIME-11]',
      event: allow,
      nowMs: 30 * MINUTE + 27_000,
      status: 'expired',
    },
    { name: 'ignores a decision on another digest', event: { ...allow, digest: 'd2' }, nowMs: 999, status: 'pending' },
    {
      name: 'ignores a decision on another revision [BIND-07]',
      event: { ...allow, revision: 2 },
      nowMs: 999,
      status: 'pending',
    },
    { name: 'is denied by one deny', event: { ...allow, type: 'deny' }, nowMs: 999, status: 'denied' },
    { name: 'is withdrawn', event: { type: 'withdraw' }, nowMs: 999, status: 'withdrawn' },
    { name: 'is refused', event: { type: 'refuse' }, nowMs: 999, status: 'refused' },
    { name: 'cannot be dispatched', event: { type: 'dispatch' }, nowMs: 999, status: 'pending' },
    {
      name: 'expires on a wake at the deadline, never runs [TIME-01] [TIME2-1]',
      event: { type: 'wake' },
      nowMs: 30 * MINUTE,
      status: 'expired',
    },
    { name: 'stays pending on a wake that is early', event: { type: 'wake' }, nowMs: 5, status: 'pending' },
  ] as const)('$name', ({ event, nowMs, status }) => {
    expect(transition(pending, event, nowMs).status).toBe(status);
  });

  test('escalates at its level time and keeps its deadline [TIME-03]', () => {
    const escalated = transition(pending, { type: 'wake' }, 10 * MINUTE);
    expect(escalated).toMatchObject({ status: 'pending', level: 1, dueAtMs: 30 * MINUTE, deadlineAtMs: 30 * MINUTE });
  });

  test('without reviewers goes to the next level at once, and is refused after the last [WHO-10] [FORGE-11]', () => {
    const next = transition(pending, { type: 'noReviewers' }, 1);
    expect(next).toMatchObject({ status: 'pending', level: 1 });
    expect(transition(next, { type: 'noReviewers' }, 2).status).toBe('refused');
  });

  test('under keepWaiting reminds, and ends after 30 days, not executed [TIME-10]', () => {
    const deadline = { afterMs: MINUTE, then: 'keepWaiting', remindEveryMs: 5 * MINUTE } as const;
    const waiting = open({ revision: 1, digest: 'd1', schedule: { escalate: [], deadline } }, 0);
    expect(waiting).toMatchObject({ dueAtMs: MINUTE, deadlineAtMs: LONGEST_WAIT_MS });
    const reminded = transition(waiting, { type: 'wake' }, MINUTE);
    expect(reminded).toMatchObject({ status: 'pending', dueAtMs: 6 * MINUTE });
    expect(transition(reminded, { type: 'wake' }, LONGEST_WAIT_MS).status).toBe('expired');
  });
});

describe('an allowed call', () => {
  test('that is found stale opens the next revision with times of its own [TIME-06] [BIND-06]', () => {
    const next = transition(allowed, { type: 'stale', digest: 'd2', schedule }, 9 * MINUTE);
    expect(next).toMatchObject({
      status: 'pending',
      revision: 2,
      digest: 'd2',
      level: 0,
      dueAtMs: 19 * MINUTE,
      deadlineAtMs: 39 * MINUTE,
    });
  });

  test('that is stale in its third revision is refused [SWAP-13]', () => {
    expect(transition({ ...allowed, revision: 3 }, { type: 'stale', digest: 'd4', schedule }, 1).status).toBe(
      'refused',
    );
  });

  test.each([
    ['dispatch', 'dispatched'],
    ['withdraw', 'withdrawn'],
    ['refuse', 'refused'],
    ['wake', 'allowed'],
  ] as const)('on %s becomes %s', (type, status) => {
    expect(transition(allowed, { type }, 5).status).toBe(status);
  });
});

describe('a sent operation', () => {
  const dispatched: CallLife = { ...allowed, status: 'dispatched' };
  test.each([
    ['answer', 'executed'],
    ['absence', 'failed'],
    ['noAnswer', 'unknown'],
    ['withdraw', 'dispatched'],
  ] as const)('on %s becomes %s', (type, status) => {
    expect(transition(dispatched, { type }, 5).status).toBe(status);
  });

  test('an unknown outcome is still settled [EXEC-08]', () => {
    expect(transition({ ...dispatched, status: 'unknown' }, { type: 'answer' }, 5).status).toBe('executed');
  });
});

const anyEvent: fc.Arbitrary<CallEvent> = fc.oneof(
  fc.constantFrom<CallEvent>(
    { type: 'wake' },
    { type: 'withdraw' },
    { type: 'refuse' },
    { type: 'noReviewers' },
    { type: 'dispatch' },
    { type: 'answer' },
    { type: 'absence' },
    { type: 'noAnswer' },
    { type: 'stale', digest: 'd2', schedule },
  ),
  fc.record({
    type: fc.constantFrom('allow' as const, 'deny' as const),
    revision: fc.integer({ min: 1, max: 4 }),
    digest: fc.constantFrom('d1', 'd2'),
  }),
);

function run(events: readonly { readonly event: CallEvent; readonly restMs: number }[]): readonly CallLife[] {
  let nowMs = 0;
  let life = pending;
  return events.map(({ event, restMs }) => {
    nowMs += restMs;
    life = transition(life, event, nowMs);
    return life;
  });
}

const story = fc.array(fc.record({ event: anyEvent, restMs: fc.integer({ min: 0, max: 12 * MINUTE }) }), {
  maxLength: 30,
});

test('a law: nothing is dispatched without an allow of the open revision and digest before it', () => {
  fc.assert(
    fc.property(story, (events) => {
      const lives = run(events);
      const first = lives.findIndex((life) => life.status === 'dispatched');
      const allows = lives.slice(0, Math.max(first, 0)).some((life) => life.status === 'allowed');
      expect(first === -1 || allows).toBe(true);
    }),
  );
});

test('a law: a final state never changes', () => {
  const final = ['executed', 'failed', 'denied', 'expired', 'withdrawn', 'refused'];
  fc.assert(
    fc.property(story, anyEvent, fc.nat(), (events, event, nowMs) => {
      const last = run(events).at(-1) ?? pending;
      fc.pre(final.includes(last.status));
      expect(transition(last, event, nowMs)).toEqual(last);
    }),
  );
});
