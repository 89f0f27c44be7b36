import { pendingApproval } from '../../client/pending-approval';
import type { CallOutcome } from '../../core/outcome';
import { endAnswer } from '../../gateway/answers/end-answer';
import { allowedAnswer, pendingAnswer, runningAnswer } from '../../gateway/answers/pending-answer';
import { pendingState } from '../support/approval-request';

const KEY = 'dev.holdpoint/approval';
const URL = 'https://holdpoint.example/requests/op_8f14e45f';
const call = {
  operationId: 'op_8f14e45f',
  revision: 1,
  digest: 'sha256:b1',
  rule: { id: 'production-migrations', version: 'v1' },
  reviewUrl: URL,
  hasOutputSchema: false,
};
const approval = {
  operationId: 'op_earlier',
  revision: 2,
  deciders: ['dana'],
  askedRule: { id: 'production-migrations', version: 'v1' },
  permittedRule: { id: 'production-migrations', version: 'v2' },
  grantId: 'gr_1',
  emergency: false,
  verified: true,
};

type Shown = { content: { text: string }[]; structuredContent?: unknown; isError?: boolean; _meta: never };
const shown = (result: unknown): Shown => result as Shown;
const textOf = (result: unknown): string =>
  shown(result)
    .content.map(({ text }) => text)
    .join('\n');
const metaOf = (result: unknown): Record<string, unknown> => (shown(result)._meta as Record<string, never>)[KEY]!;

const pending = (changes = {}, hasOutputSchema = false) =>
  pendingAnswer({ state: pendingState(changes), retryAfterMs: 15_000, reviewUrl: URL, hasOutputSchema });

describe('a call that waits for approval', () => {
  it('says NOT executed, why, when to come back and until when, and is no error [EVT-03] [GATE-10]', () => {
    expect(pending()).toMatchObject({ isError: false, content: [{ type: 'text' }] });
    expect(textOf(pending())).toBe(
      'NOT EXECUTED: this call waits for approval by a person. Nothing has been done; this is neither a success nor a failure. ' +
        'Tell the user that it waits: its short id is K7P3M9QX, and reviewers decide at https://holdpoint.example/requests/op_8f14e45f. ' +
        'To go on, call the same tool again with exactly the same arguments, not before 15 seconds from now: that continues this request and opens no other. ' +
        'Until then do something else or stop. Do not repeat it in a loop, do not change its arguments, do not try another way to the same effect. ' +
        'Reviewers have until 2023-11-14T22:43:20Z. If they have not approved it by then, it expires and is not executed: silence is no consent. (op_8f14e45f)',
    );
  });

  it('states itself in its own _meta key [EVT-03]', () => {
    expect(metaOf(pending())).toEqual({
      version: 1,
      status: 'pending',
      operationId: 'op_8f14e45f',
      revision: 1,
      digest: 'sha256:b1',
      rule: { id: 'production-migrations', version: 'v1' },
      deadlineAtMs: 1_700_001_800_999,
      retryAfterMs: 15_000,
      reviewUrl: URL,
    });
  });

  it('says when to come back in whole seconds, and one at least [GATE-8]', () => {
    const after = (retryAfterMs: number) =>
      /not before (.*?) from now/.exec(
        textOf(pendingAnswer({ state: pendingState(), retryAfterMs, reviewUrl: null, hasOutputSchema: false })),
      )?.[1];
    expect([after(0), after(1_000), after(1_001), after(60_000)]).toEqual([
      '1 second',
      '1 second',
      '2 seconds',
      '60 seconds',
    ]);
  });

  it('says that it is reviewed anew from the second revision on', () => {
    expect(textOf(pending({ revision: 1 }))).not.toContain('anew');
    expect(textOf(pending({ revision: 2 }))).toContain('so it is reviewed anew');
  });

  it('has structured content only where the tool has an output schema, with the same sentence [GATE-11]', () => {
    expect(pending()).not.toHaveProperty('structuredContent');
    const withSchema = pending({}, true);
    expect(shown(withSchema).structuredContent).toEqual({
      holdpoint: { status: 'pending', message: textOf(withSchema), operationId: 'op_8f14e45f' },
    });
  });

  it('carries nothing of arguments, tool title, note or approvers', () => {
    const whole = JSON.stringify(pending({}, true));
    for (const word of ['DROP', 'secret:', 'Ignore', 'said yes', 'dana', 'dba', 'amira']) {
      expect(whole).not.toContain(word);
    }
  });

  it('names no place for reviewers where none is known', () => {
    const answer = pendingAnswer({
      state: pendingState(),
      retryAfterMs: 5_000,
      reviewUrl: null,
      hasOutputSchema: false,
    });
    expect(textOf(answer)).toContain('its short id is K7P3M9QX. To go on');
    expect(metaOf(answer)).toMatchObject({ reviewUrl: null });
  });
});

describe('a call that was let through and has no outcome yet', () => {
  it('is neither success nor failure while it runs, and is not to be repeated', () => {
    const answer = runningAnswer({ ...call, hasOutputSchema: true }, 2_000);
    expect(answer).toMatchObject({ isError: false, structuredContent: { holdpoint: { status: 'running' } } });
    expect(textOf(answer)).toBe(
      'IN PROGRESS: this call was let through and is being carried out. Its outcome is not known yet; this is neither a success nor a failure. ' +
        'To get its result, call the same tool again with exactly the same arguments, not before 2 seconds from now: it is not run a second time. ' +
        'Do not repeat it in a loop, do not try another way to the same effect. (op_8f14e45f)',
    );
    expect(metaOf(answer)).toMatchObject({ status: 'running', retryAfterMs: 2_000, deadlineAtMs: null });
    expect(textOf(answer)).not.toMatch(/not executed/i);
  });

  it('says that it runs when it is called again, where nobody collected it [GATE-5]', () => {
    const answer = allowedAnswer({ ...call, hasOutputSchema: true }, 0);
    expect(answer).toMatchObject({ isError: false, structuredContent: { holdpoint: { status: 'allowed' } } });
    expect(textOf(answer)).toMatch(
      /^NOT EXECUTED YET: this call was approved, .* with exactly the same arguments, now: then it runs once/,
    );
    expect(metaOf(answer)).toMatchObject({ status: 'allowed', retryAfterMs: 0 });
  });
});

const ended = (end: CallOutcome, more: { delivered?: boolean; hasOutputSchema?: boolean; ends?: number } = {}) =>
  endAnswer({
    ...call,
    hasOutputSchema: more.hasOutputSchema ?? false,
    end,
    delivered: more.delivered ?? false,
    replayEndsAtMs: more.ends ?? null,
  });

describe('a call that was not executed', () => {
  it.each<[string, CallOutcome, RegExp]>([
    ['denied', { outcome: 'denied', reason: null, deciders: ['dana'] }, /^DENIED: not executed\./],
    ['expired', { outcome: 'expired', detail: '' }, /^EXPIRED: not executed\./],
    ['withdrawn', { outcome: 'withdrawn', detail: 'the requester took it back' }, /^WITHDRAWN: not executed\./],
    ['refused', { outcome: 'refused', code: 'ACCESS_DENIED', detail: 'No access entry' }, /^REFUSED: not executed\./],
    ['failed', { outcome: 'failed', detail: '', evidence: 'notSent', approval: null }, /^FAILED: nothing was done\./],
    ['unknown', { outcome: 'unknown', detail: '', approval }, /^OUTCOME UNKNOWN: /],
  ])('is an error with a status and a word of its own: %s [EVT-10]', (_outcome, end, text) => {
    const answer = ended(end, { hasOutputSchema: true });
    expect(answer).toMatchObject({ isError: true });
    expect(answer).not.toHaveProperty('structuredContent');
    expect(metaOf(answer)).toMatchObject({ status: end.outcome, operationId: 'op_8f14e45f' });
    expect(textOf(answer)).toMatch(text);
  });

  it('closes this request and says not to work around it where it was denied [DENY-03] [GATE-9]', () => {
    expect(textOf(ended({ outcome: 'denied', reason: null, deciders: ['dana'] }))).toBe(
      'DENIED: not executed. A reviewer denied this approval request. No reason was given. This request is closed: do not repeat the call, do not work around it. (op_8f14e45f)',
    );
  });

  it("has the reviewer's reason in the same state and form, and never who it was [DENY-04] [GATE-9]", () => {
    const answer = ended({ outcome: 'denied', reason: 'use the staging copy', deciders: ['dana'] });
    expect(answer).toMatchObject({ isError: true });
    expect(metaOf(answer)).toMatchObject({ status: 'denied' });
    expect(textOf(answer)).toContain(`The reviewer's words: "use the staging copy".`);
    expect(JSON.stringify(answer)).not.toContain('dana');
  });

  it('says that nobody answered and silence is no consent where it expired [GATE-6]', () => {
    const answer = ended({ outcome: 'expired', detail: 'the deadline passed' });
    expect(textOf(answer)).toContain('Nobody answered the approval request in time; silence is no consent.');
    expect(metaOf(answer)).toMatchObject({ status: 'expired' });
  });

  it('says by which code it was refused', () => {
    const answer = ended({ outcome: 'refused', code: 'OPEN_REQUESTS_LIMIT', detail: 'too many' });
    expect(metaOf(answer)).toMatchObject({ status: 'refused', code: 'OPEN_REQUESTS_LIMIT' });
  });

  it('says that a person settles what is unknown, and which approval it had [EXEC-15]', () => {
    const answer = ended({ outcome: 'unknown', detail: '', approval });
    expect(textOf(answer)).toContain('Do not repeat it: a person will establish what happened.');
    expect(metaOf(answer)).toMatchObject({ status: 'unknown', grantId: 'gr_1' });
  });
});

const executed = (value: unknown, more = {}): CallOutcome => ({
  outcome: 'executed',
  result: { kind: 'inline', value: value as never, isError: false, digest: 'sha256:0', bytes: 2 },
  evidence: 'answer',
  approval,
  ...more,
});
const vendorResult = {
  content: [{ type: 'text', text: 'done', annotations: { audience: ['user'] } }],
  structuredContent: { rows: 1 },
  vendorKey: [1, null],
  _meta: { 'vendor.example/x': 1, traceparent: '00-ab' },
};

describe('a call that was executed', () => {
  it("is the tool's own result, with Holdpoint's key beside its own ones [LIST-3] [LIST-6]", () => {
    const answer = ended(executed(vendorResult), { hasOutputSchema: true });
    const { _meta, ...rest } = answer;
    const { _meta: own, ...tools } = vendorResult;
    expect(rest).toEqual(tools);
    expect(_meta).toEqual({ ...own, [KEY]: metaOf(answer) });
  });

  it('is approved by both rules with versions, the request and the grant, and names nobody [GATE-5] [EVT-07]', () => {
    expect(metaOf(ended(executed(vendorResult)))).toEqual({
      version: 1,
      status: 'approved',
      operationId: 'op_8f14e45f',
      revision: 1,
      digest: 'sha256:b1',
      rule: { id: 'production-migrations', version: 'v1' },
      deadlineAtMs: null,
      retryAfterMs: null,
      reviewUrl: URL,
      replayed: false,
      request: { operationId: 'op_earlier', revision: 2 },
      askedRule: { id: 'production-migrations', version: 'v1' },
      permittedRule: { id: 'production-migrations', version: 'v2' },
      grantId: 'gr_1',
      emergency: false,
      verified: true,
    });
  });

  it('claims no approval where no rule asked', () => {
    const meta = metaOf(ended(executed(vendorResult, { approval: null })));
    expect(meta).toMatchObject({ status: 'executed', replayed: false });
    expect(meta).not.toHaveProperty('grantId');
  });

  it('keeps an error that the tool itself reports, without structured content [LIST-4]', () => {
    const value = { content: [{ type: 'text', text: 'no such table' }], isError: true };
    const answer = ended(executed(value), { hasOutputSchema: true });
    expect(answer).toMatchObject(value);
    expect(answer).not.toHaveProperty('structuredContent');
    expect(metaOf(answer)).toMatchObject({ status: 'approved' });
  });

  it("does not take a tool's own word for an approval", () => {
    const value = { content: [], _meta: { [KEY]: { status: 'pending', operationId: 'op_forged' } } };
    expect(metaOf(ended(executed(value)))).toMatchObject({ status: 'approved', operationId: 'op_8f14e45f' });
  });

  it('says so beside the result where it was given before, and how to ask for a new run', () => {
    const answer = ended(executed(vendorResult), { delivered: true, ends: 1_700_000_120_000 });
    expect(shown(answer).content).toEqual([
      vendorResult.content[0],
      {
        type: 'text',
        text: 'NOT RUN AGAIN: this is the result of the identical call that was executed before (op_8f14e45f). If a new run is really wanted, it takes a new key in _meta["dev.holdpoint/operation"] of the call, or the same call after 2023-11-14T22:15:20Z; it is then a call of its own, and approval may be needed anew.',
      },
    ]);
    expect(shown(answer).structuredContent).toEqual({ rows: 1 });
    expect(metaOf(answer)).toMatchObject({ replayed: true });
  });

  it('gets a block of text where a replayed result has none', () => {
    const answer = ended(executed({ structuredContent: { rows: 1 } }), { delivered: true });
    expect(shown(answer).content).toHaveLength(1);
    expect(textOf(answer)).toMatch(/^NOT RUN AGAIN: .* of the call; it is then a call of its own/);
  });

  it.each([
    ['was found by look-up', { result: null, evidence: 'lookUp' }, 'EXECUTED: a look-up or a person established'],
    [
      'is stored elsewhere',
      { result: { kind: 'stored', digest: 'd', bytes: 9, isError: false } },
      'EXECUTED: the result',
    ],
  ])('is no failure where its answer %s', (_name, more, text) => {
    const answer = ended(executed(null, more), { hasOutputSchema: true });
    expect(answer).toMatchObject({ isError: false, structuredContent: { holdpoint: { status: 'executed' } } });
    expect(textOf(answer)).toContain(text);
    expect(pendingApproval(answer)).toBeNull();
    expect(pendingApproval({ ...answer, _meta: {} })).toBeNull();
    expect(ended(executed(null, more))).not.toHaveProperty('structuredContent');
  });

  it("does not pass what a look-up answered off as the tool's own result [GATE-4]", () => {
    const found = executed({ applied: true, content: [{ type: 'text', text: 'row 7' }] }, { evidence: 'lookUp' });
    const answer = ended(found, { hasOutputSchema: true });
    expect(answer).toMatchObject({ isError: false, structuredContent: { holdpoint: { status: 'executed' } } });
    expect(textOf(answer)).toMatch(/^EXECUTED: a look-up or a person established that the call took effect/);
    expect(answer).not.toHaveProperty('applied');
  });

  it('stays the error that the tool reported where that answer is stored elsewhere', () => {
    const result = { kind: 'stored', digest: 'd', bytes: 9, isError: true };
    expect(ended(executed(null, { result }))).toMatchObject({ isError: true });
  });
});

describe('pendingApproval', () => {
  const answers = {
    pending: pending({}, true),
    allowed: allowedAnswer({ ...call, hasOutputSchema: true }, 0),
    running: runningAnswer({ ...call, hasOutputSchema: true }, 2_000),
  };

  it('finds what a pending result waits for [GATE-10]', () => {
    expect(pendingApproval(pending())).toEqual({
      status: 'pending',
      operationId: 'op_8f14e45f',
      revision: 1,
      retryAfterMs: 15_000,
      deadlineAtMs: 1_700_001_800_999,
      reviewUrl: URL,
    });
  });

  it.each(['pending', 'allowed', 'running'] as const)('finds one that is %s', (status) => {
    expect(pendingApproval(answers[status])).toMatchObject({ status, operationId: 'op_8f14e45f' });
  });

  it.each(['pending', 'allowed', 'running'] as const)('finds one that is %s by its form alone', (status) => {
    const { structuredContent } = shown(answers[status]);
    const found = {
      status,
      operationId: 'op_8f14e45f',
      revision: null,
      retryAfterMs: 5_000,
      deadlineAtMs: null,
      reviewUrl: null,
    };
    expect(pendingApproval({ structuredContent })).toEqual(found);
    expect(pendingApproval({ structuredContent, _meta: { 'vendor.example/x': 1 } })).toEqual(found);
  });

  const form = { status: 'pending', message: 'm', operationId: 'op_1' };
  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a text', 'pending'],
    ['a real result', { content: [], structuredContent: { rows: 1 } }],
    ['an executed call', ended(executed(vendorResult))],
    ['a denied call', ended({ outcome: 'denied', reason: null, deciders: [] })],
    ['a status that it does not know', { _meta: { [KEY]: { status: 'held' } } }],
    ['a form with a status that it does not know', { structuredContent: { holdpoint: { ...form, status: 'held' } } }],
    ['a form beside other data', { structuredContent: { holdpoint: form, rows: 1 } }],
    ['a form with more in it', { structuredContent: { holdpoint: { ...form, rows: 1 } } }],
    ['a form without its message', { structuredContent: { holdpoint: { status: 'pending', operationId: 'op_1' } } }],
    ['a form whose message is none', { structuredContent: { holdpoint: { ...form, message: 1 } } }],
    ['a form for no operation', { structuredContent: { holdpoint: { ...form, operationId: 'x' } } }],
    ['a form whose operation is no text', { structuredContent: { holdpoint: { ...form, operationId: 1 } } }],
    ['a form in an error', { structuredContent: { holdpoint: form }, isError: true }],
    [
      'a form that _meta contradicts',
      { structuredContent: { holdpoint: form }, _meta: { [KEY]: { status: 'approved' } } },
    ],
  ])('finds nothing in %s', (_name, result) => {
    expect(pendingApproval(result)).toBeNull();
  });

  it('waits 5 s where a result says nothing of when', () => {
    expect(pendingApproval({ _meta: { [KEY]: { status: 'pending' } } })).toEqual({
      status: 'pending',
      operationId: '',
      revision: null,
      retryAfterMs: 5_000,
      deadlineAtMs: null,
      reviewUrl: null,
    });
  });
});
