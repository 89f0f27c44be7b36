import { emergencyAsks } from '../../core/emergency';
import { verifyAudit } from '../../ledger/audit-verify';
import type { RowProblem } from '../../ledger/actual-rows';
import { listRetrospectives, retrospectivesOf } from '../../ledger/retrospective-queries';
import { createLedger, type Active, type Ledger } from '../../ledger/ledger';
import { BREAK_GLASS, EMERGENCY } from '../support/emergency-policy';
import { activate, askOf, decisionFor, openPending, prepared } from '../support/ledger-fixture';
import { freshStore, STORE_KINDS, type FreshStore } from '../support/stores';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const T0 = Date.UTC(2026, 0, 1, 10);
const emergency = { rule: 'break-glass', ticket: 'INC-7' };
const allowing = { reviewer: 'o1', reason: 'the site is down', emergency };

describe.each(STORE_KINDS)('emergencies on %s', (kind) => {
  let fresh: FreshStore;
  let ledger: Ledger;
  let active: Active;
  let nowMs = T0;
  let differing: readonly RowProblem[];

  beforeEach(async () => {
    nowMs = T0;
    differing = [];
    fresh = await freshStore(kind, { clock: () => nowMs });
    ledger = createLedger(fresh.store, { defaultTrust: 'namespace' });
    active = await activate(ledger, EMERGENCY);
  });
  afterEach(async () => {
    const { rows } = await verifyAudit(fresh.store, { publicKeys: [] });
    await fresh.remove();
    expect(rows?.problems).toEqual(differing);
  });

  const facts = (call: ReturnType<typeof prepared>) => ({ ...call.ref, material: [] });
  const send = (call: ReturnType<typeof prepared>, ask = askOf()) =>
    ledger.dispatch(call.dispatching(active, { ask, emergencies: emergencyAsks(active.policy, facts(call), ask) }));
  const decide = async (call: ReturnType<typeof prepared>, more = {}) => {
    const request = await openPending(ledger, call, active);
    const decision = decisionFor(request, 'allow', { ...allowing, ...more });
    return (await ledger.recordDecision(decision, call.ref.workflowId)).verdict;
  };
  const facted = async (name: string) =>
    (await fresh.store.db.selectFrom('audit').select('body').where('kind', '=', name).execute()).map(
      ({ body }) => JSON.parse(body) as unknown,
    );
  const events = async () => {
    const rows = await fresh.store.db.selectFrom('outbox').select(['type', 'body']).orderBy('position').execute();
    return rows
      .filter(({ type }) => type.startsWith('dev.holdpoint.emergency.'))
      .map(({ type, body }) => ({ type, data: (JSON.parse(body) as { data: object }).data }));
  };

  test('is marked in the same ledger, tells who was skipped at once, and opens its review [WHO-18] [TIME2-15]', async () => {
    const call = prepared();
    expect(await decide(call)).toMatchObject({ code: 'accepted', decidedBy: ['o1'], state: 'allowed' });
    const id = `gr_${call.ref.operationId.slice(3)}.1`;
    const opened = {
      ...{ grantId: id, rule: 'break-glass', ticket: 'INC-7', reason: 'the site is down' },
      ...{ revision: 1, skipped: ['l1', 'r1', 'r2'], dueAtMs: T0 + 8 * HOUR },
    };
    expect(await facted('retrospective.opened')).toEqual([opened]);
    expect(await facted('decision.recorded')).toMatchObject([{ reviewer: 'o1', emergency }]);
    expect(await events()).toMatchObject([
      {
        type: 'dev.holdpoint.emergency.allowed',
        data: { ...opened, deciders: ['o1'], request: { operationId: call.ref.operationId, tool: 'delete_rows' } },
      },
    ]);
    expect(await send(call)).toMatchObject({
      kind: 'dispatched',
      approval: { emergency: true, askedRule: { id: 'break-glass' }, deciders: ['o1'] },
    });
  });

  test('blocks the next emergency while its review is overdue, and not before [TIME2-15]', async () => {
    const first = prepared();
    await decide(first);
    const id = `gr_${first.ref.operationId.slice(3)}.1`;
    nowMs += 8 * HOUR - 1;
    expect((await decide(prepared())).code).toBe('accepted');
    nowMs += 1;
    const blocked = prepared();
    expect(await decide(blocked)).toMatchObject({
      code: 'emergencyRefused',
      detail: `the review of emergency ${id} is overdue since 2026-01-01T18:00:00.000Z; close it first`,
      state: 'pending',
    });
    expect((await send(blocked)).kind).toBe('state');
    const review = { grantId: id, finding: 'justified', by: 'r1', note: 'the replica was gone' } as const;
    expect(await retrospectivesOf(fresh.store.db, first.ref.operationId)).toMatchObject([
      {
        grantId: id,
        tool: 'delete_rows',
        rule: 'break-glass',
        deciders: ['o1'],
        skipped: ['l1', 'r1', 'r2'],
        closed: null,
      },
    ]);
    expect(await ledger.closeRetrospective(review)).toEqual({ ok: true });
    const open = await listRetrospectives(fresh.store.db);
    expect(open.map(({ grantId }) => grantId)).not.toContain(id);
    const [closed] = (await listRetrospectives(fresh.store.db, { all: true })).filter(({ grantId }) => grantId === id);
    expect(closed?.closed).toEqual({ atMs: nowMs, by: 'r1', finding: 'justified', note: 'the replica was gone' });
    expect((await decide(prepared())).code).toBe('accepted');
    expect(await facted('retrospective.closed')).toEqual([{ ...review, verified: false }]);
    expect((await events()).at(-2)?.type).toBe('dev.holdpoint.emergency.reviewed');
  });

  test('is reviewed once, by somebody whom it skipped, with a note', async () => {
    const call = prepared();
    await decide(call);
    const review = { grantId: `gr_${call.ref.operationId.slice(3)}.1`, finding: 'notJustified', note: 'no' } as const;
    const refusal = (detail: string) => ({ ok: false, detail });
    expect(await ledger.closeRetrospective({ ...review, by: 'o1' })).toEqual(
      refusal(`o1 may not review emergency ${review.grantId}; who may: l1, r1, r2`),
    );
    expect(await ledger.closeRetrospective({ ...review, by: 'r1', note: '\u200b ' })).toEqual(
      refusal('a review needs a note: what was found, and what follows from it'),
    );
    expect(await ledger.closeRetrospective({ ...review, by: 'r1', grantId: 'gr_0.1' })).toEqual(
      refusal('no emergency gr_0.1'),
    );
    const both = await Promise.all(['r1', 'r2'].map((by) => ledger.closeRetrospective({ ...review, by })));
    expect(both.filter(({ ok }) => ok)).toHaveLength(1);
    expect(await facted('retrospective.closed')).toHaveLength(1);
  });

  test('ends with its minutes: what was not sent by then asks again', async () => {
    const call = prepared();
    await decide(call);
    nowMs += 15 * MINUTE;
    expect(await send(call)).toEqual({ kind: 'stale', cause: 'grantUnusable' });
  });

  test('covers the same call again only for its minutes, under the same rules', async () => {
    const windowed = askOf({ validity: { kind: 'window', uses: null, durationMs: HOUR, total: {} } });
    await decide(prepared({ ask: windowed }));
    const again = prepared({ ask: windowed });
    const open = async (call: typeof again) => (await ledger.openCalls([call.opening(active)]))[0];
    expect(await open(again)).toEqual({ kind: 'state', state: { status: 'allowed', revision: 0 } });
    expect(await send(again, windowed)).toMatchObject({ kind: 'dispatched', approval: { emergency: true } });
    expect(await facted('retrospective.opened')).toHaveLength(1);
    nowMs += 10 * MINUTE;
    expect(await open(prepared({ ask: windowed }))).toMatchObject({ state: { status: 'pending' } });
  });

  test('does not hold once its rule has changed or is gone', async () => {
    const call = prepared();
    await decide(call);
    active = await activate(ledger, { ...EMERGENCY, rules: [] });
    expect(await send(call)).toEqual({ kind: 'stale', cause: 'ruleChanged' });
    active = await activate(ledger, {
      ...EMERGENCY,
      rules: [{ ...BREAK_GLASS, version: 'v2', approvers: { ...BREAK_GLASS.approvers, groups: ['dba'] } }],
    });
    expect(await send(call)).toEqual({ kind: 'stale', cause: 'ruleChanged' });
  });

  test('a grant that was made one by hand does not permit what its decisions do not', async () => {
    const call = prepared();
    const request = await openPending(ledger, call, active);
    await ledger.recordDecision(decisionFor(request, 'allow'), call.ref.workflowId);
    const [under] = emergencyAsks(active.policy, facts(call), askOf());
    const grant = await fresh.store.db.selectFrom('grants').selectAll().executeTakeFirstOrThrow();
    const terms = JSON.stringify({ ...(JSON.parse(grant.terms) as object), ask: under });
    await fresh.store.write(({ db }) => db.updateTable('grants').set({ terms }).execute());
    expect(await send(call)).toEqual({ kind: 'stale', cause: 'reviewerChanged' });
    differing = [{ row: `grants ${grant.grant_id}`, detail: 'terms is not what was recorded' }];
  });

  test('audit verify sees a review that was changed by hand', async () => {
    await decide(prepared());
    await fresh.store.write(({ db }) =>
      db
        .updateTable('retrospectives')
        .set({ due_at: T0 + 1_000 * HOUR })
        .execute(),
    );
    const { grant_id: id } = await fresh.store.db
      .selectFrom('retrospectives')
      .select('grant_id')
      .executeTakeFirstOrThrow();
    differing = [
      {
        row: `retrospectives ${id}`,
        detail: `due_at is ${T0 + 1_000 * HOUR}, the audit says ${T0 + 8 * HOUR}`,
      },
    ];
  });
});
