import { createLedger, type Active, type Ledger } from '../../ledger/ledger';
import { verifyAudit } from '../../ledger/audit-verify';
import {
  activate,
  askOf,
  decisionFor,
  openPending,
  PEOPLE,
  POLICY,
  prepared,
  type PreparedFixture,
} from '../support/ledger-fixture';
import { freshStore, STORE_KINDS, type FreshStore } from '../support/stores';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1, 10);

describe.each(STORE_KINDS)('[TIME2-13] audit verify compares rows with the audit on %s', (kind) => {
  let fresh: FreshStore;
  let ledger: Ledger;
  let active: Active;
  let nowMs = T0;

  beforeEach(async () => {
    nowMs = T0;
    fresh = await freshStore(kind, { clock: () => nowMs });
    ledger = createLedger(fresh.store, { defaultTrust: 'namespace' });
    active = await activate(ledger);
  });
  afterEach(() => fresh.remove());

  const rows = async () => (await verifyAudit(fresh.store, { publicKeys: [] })).rows;
  const found = async () => (await rows())?.problems.map(({ row, detail }) => `${row}: ${detail}`);
  const allow = async (call: PreparedFixture) => {
    const request = await openPending(ledger, call, active);
    await ledger.recordDecision(decisionFor(request, 'allow', { reason: 'seen' }), call.ref.workflowId);
    return request;
  };
  const send = (call: PreparedFixture, more = {}) => ledger.dispatch(call.dispatching(active, more));
  const executed = { outcome: 'executed', result: '{"ok":true}', isError: false, evidence: 'answer' } as const;

  /** An operation that was sent under a window of two uses, whose result is known. */
  const window = async (): Promise<string> => {
    const validity = { kind: 'window', uses: 2, durationMs: 30 * MINUTE, total: { amount: 500 } } as const;
    const call = prepared({ turnId: 't1', ask: askOf({ validity }) });
    await allow(call);
    await send(call, { amounts: { amount: 400 } });
    await ledger.recordOutcome(call.ref.operationId, executed);
    return call.ref.operationId;
  };

  it('a ledger in which everything happened holds', async () => {
    await window();
    const [denied, expired, withdrawn, unknown, settled, again, late, open] = Array.from({ length: 8 }, (_, n) =>
      prepared({ turnId: `mix${n}`, arguments: { id: 100 + n }, resourceVersion: 7 }),
    );
    const no = decisionFor(await openPending(ledger, denied!, active), 'deny', { reason: 'not now' });
    await ledger.recordDecision(no, denied!.ref.workflowId);
    await ledger.recordDecision(no, denied!.ref.workflowId);
    await allow(withdrawn!);
    await ledger.withdraw(withdrawn!.ref.operationId, 'over');
    for (const call of [unknown!, settled!]) {
      await allow(call);
      await send(call);
      await ledger.recordOutcome(call.ref.operationId, { outcome: 'unknown', detail: 'no answer' });
    }
    const settlement = { operationId: settled!.ref.operationId, by: 'dana', reason: 'seen in the log' };
    await ledger.settle({ ...settlement, outcome: 'failed' });
    await allow(again!);
    await send(again!);
    await ledger.endAttempt(again!.ref.operationId, 1);
    await ledger.recordAbsence(again!.ref.operationId, 1);
    await send(again!, { attempt: 2 });
    await ledger.recordOutcome(again!.ref.operationId, { outcome: 'failed', detail: 'absent', evidence: 'lookUp' });
    await ledger.recordOutcome(again!.ref.operationId, executed);
    await allow(late!);
    const moved = prepared({ turnId: 'mix6', arguments: { id: 106 }, resourceVersion: 8 });
    await ledger.openCalls([moved.opening(active, 'resourceChanged')]);
    await ledger.withdraw(moved.ref.operationId, 'over');
    await openPending(ledger, expired!, active);
    await openPending(ledger, open!, active);
    nowMs = T0 + 10 * MINUTE;
    await ledger.advanceRequest(open!.ref.operationId);
    await ledger.advanceRequest(expired!.ref.operationId);
    nowMs = T0 + 30 * MINUTE;
    await ledger.advanceRequest(expired!.ref.operationId);
    await allow(prepared({ arguments: { id: 200 } }));
    const grants = await fresh.store.db
      .selectFrom('grants')
      .select('grant_id')
      .where('revoked_at', 'is', null)
      .execute();
    for (const grant of grants) await ledger.revokeGrant({ grantId: grant.grant_id, by: 'dana', reason: 'enough' });
    await activate(ledger, { ...POLICY, people: { ...PEOPLE, x: PEOPLE.u1 } });
    expect(await rows()).toEqual({ compared: 32, problems: [] });
  });

  it('more operations than are read at once hold, also while others write', async () => {
    const some = async (from: number) => {
      for (let n = from; n < from + 120; n += 1)
        await send(prepared({ turnId: `many${n}`, ask: null })).then(() => undefined);
    };
    await some(0);
    const writing = some(1_000);
    expect((await rows())?.problems).toEqual([]);
    await writing;
    expect(await rows()).toEqual({ compared: 241, problems: [] });
  });

  const OPERATION = prepared({ turnId: 't1' }).ref.operationId;
  const GRANT = `grants gr_${OPERATION.slice(3)}.1`;
  const REQUEST = `requests ${OPERATION} revision 1`;
  const DECISION = `decisions ${OPERATION}.1.r1.allow`;
  const SENT = `operations ${OPERATION}`;
  const FIXED = 'a column that never changes was changed (who asks, which tool, or an id)';

  it.each([
    [
      'a window that was given more uses',
      'update grants set max_uses = 99',
      [`${GRANT}: max_uses is 99, the audit says 2`],
    ],
    [
      'a window that was made longer',
      'update grants set expires_at = 9999999999999',
      [`${GRANT}: expires_at is 9999999999999, the audit says ${T0 + 30 * MINUTE}`],
    ],
    [
      'terms that were widened',
      `update grants set terms = replace(terms, '"uses":2', '"uses":99')`,
      [`${GRANT}: terms is not what was recorded`],
    ],
    ['uses that were given back', 'update grants set uses = 0', [`${GRANT}: uses is 0, the audit says 1`]],
    [
      'a total that was set back',
      `update grants set totals = '{}'`,
      [`${GRANT}: totals is "{}", the audit says "{\\"amount\\":400}"`],
    ],
    ['a grant of another requester', `update grants set requester_key = 'other'`, [`${GRANT}: ${FIXED}`]],
    ['a grant of another binding', `update grants set binding_digest = 'other'`, [`${GRANT}: ${FIXED}`]],
    [
      'a grant that nobody revoked',
      `update grants set revoked_at = 5, revoked_by = 'zed'`,
      [`${GRANT}: revoked_at is 5, the audit says null`, `${GRANT}: revoked_by is "zed", the audit says null`],
    ],
    [
      'another reviewer',
      `update decisions set reviewer = 'zed'`,
      [`${DECISION}: reviewer is "zed", the audit says "r1"`],
    ],
    [
      'an unsigned decision as a signed one',
      'update decisions set verified = 1',
      [`${DECISION}: verified is 1, the audit says 0`],
    ],
    [
      'another message',
      `update decisions set message = replace(message, 'seen', 'gone')`,
      [`${DECISION}: message is not what was recorded`],
    ],
    [
      'another card',
      `update requests set card = replace(card, 'bot', 'kim')`,
      [`${REQUEST}: card is not what was recorded`],
    ],
    ['another requester', `update requests set subject = 'kim'`, [`${REQUEST}: ${FIXED}`]],
    [
      'another state of a request',
      `update requests set state = 'denied'`,
      [`${REQUEST}: state is "denied", the audit says "allowed"`],
    ],
    [
      'another outcome',
      `update operations set state = 'failed', ended_at = 1`,
      [`${SENT}: state is "failed", the audit says "executed"`, `${SENT}: ended_at is 1, the audit says ${T0}`],
    ],
    ['another result', `update operations set result = '{"ok":false}'`, [`${SENT}: result is not what was recorded`]],
    ['another grant of an operation', 'update operations set grant_id = null', [`${SENT}: ${FIXED}`]],
    [
      'an approval that was taken away',
      'update operations set approval = null',
      [expect.stringMatching(`^${SENT}: approval is null, the audit says "`) as string],
    ],
    ['an operation that was removed', 'delete from operations', [`${SENT}: is missing, though the audit has it`]],
    [
      'a policy that was widened',
      `update policies set compiled = replace(compiled, 'dba', 'all')`,
      ['policies 1: compiled is not what was recorded'],
    ],
    [
      'a policy that is not active any more',
      'update policies set active = 0',
      ['policies 1: active is 0, the audit says 1'],
    ],
  ])('finds %s', async (_name, statement, expected) => {
    await window();
    await fresh.tamper(statement);
    expect(await found()).toEqual(expected);
    expect((await verifyAudit(fresh.store, { publicKeys: [] })).ok).toBe(false);
  });

  it('finds a grant and a decision that nobody gave', async () => {
    await window();
    const copied =
      'operation_id, revision, once_for, requester_key, subject, agent, server, tool, binding_digest, terms';
    await fresh.tamper(
      `insert into grants (grant_id, ${copied}, uses, max_uses, totals, granted_at, expires_at)
       select 'gr_forged', ${copied}, 0, 9, '{}', granted_at, expires_at from grants`,
      `insert into decisions (decision_id, operation_id, revision, reviewer, answer, channel, verified, message, decided_at)
       select 'forged', operation_id, revision, 'zed', answer, channel, 1, message, decided_at from decisions`,
    );
    expect(await found()).toEqual([
      'decisions forged: is in no record of the audit',
      'grants gr_forged: is in no record of the audit',
    ]);
  });

  it('finds a window that was used beyond its end and its uses, though the row was put back', async () => {
    await window();
    const widened = `terms = replace(terms, '"amount":500', '"amount":900')`;
    await fresh.tamper(`update grants set uses = 0, totals = '{}', expires_at = 9999999999999, ${widened}`);
    nowMs = T0 + 31 * MINUTE;
    const validity = { kind: 'window', uses: 2, durationMs: 30 * MINUTE, total: { amount: 500 } } as const;
    for (const turnId of ['t2', 't3']) {
      const call = prepared({ turnId, ask: askOf({ validity }) });
      expect((await send(call, { amounts: { amount: 400 } })).kind).toBe('dispatched');
    }
    const narrowed = `terms = replace(terms, '"amount":900', '"amount":500')`;
    await fresh.tamper(`update grants set expires_at = ${T0 + 30 * MINUTE}, ${narrowed}`);
    expect(await found()).toEqual([
      `${GRANT}: was used after its end`,
      `${GRANT}: was used for {"amount":800}, beyond its limits`,
      `${GRANT}: was used 3 times, where 2 were allowed`,
      `${GRANT}: was used after its end`,
      `${GRANT}: was used for {"amount":1200}, beyond its limits`,
      `${GRANT}: uses is 2, the audit says 3`,
      `${GRANT}: totals is "{\\"amount\\":800}", the audit says "{\\"amount\\":1200}"`,
    ]);
  });

  it('finds a request that was decided again after its end', async () => {
    const call = prepared({ turnId: 't1' });
    const request = await openPending(ledger, call, active);
    await ledger.recordDecision(decisionFor(request, 'deny'), call.ref.workflowId);
    await fresh.tamper(`update requests set state = 'pending', closed_at = null`, 'delete from decisions');
    await ledger.recordDecision(decisionFor(request, 'allow'), call.ref.workflowId);
    expect(await found()).toEqual([
      `${REQUEST}: became allowed when it was denied`,
      `decisions ${OPERATION}.1.r1.deny: is missing, though the audit has it`,
    ]);
  });

  describe('a call is not sent', () => {
    const call = prepared({ turnId: 't1' });

    it('on a grant whose terms were changed to ask nobody, without decisions', async () => {
      await allow(call);
      const steps = /"steps":\[.*?\}\]/u;
      const { terms } = await fresh.store.db.selectFrom('grants').select('terms').executeTakeFirstOrThrow();
      expect(terms).toMatch(steps);
      await fresh.tamper(`update grants set terms = '${terms.replace(steps, '"steps":[]')}'`, 'delete from decisions');
      expect(await send(call)).toEqual({ kind: 'stale', cause: 'reviewerChanged' });
    });

    it.each([
      ['of another operation', `replace(message, '${OPERATION}', 'op_other')`],
      ['of another binding', `replace(message, '${call.digest}', 'sha256:other')`],
      ['of another answer', `replace(message, '"allow"', '"deny"')`],
      ['of another reviewer', `replace(message, '"r1"', '"r2"')`],
    ])('on a decision that was copied from one %s', async (_name, message) => {
      await allow(call);
      await fresh.tamper(`update decisions set message = ${message}`);
      expect(await send(call)).toEqual({ kind: 'stale', cause: 'reviewerChanged' });
    });
  });

  it('finds a policy that nobody applied', async () => {
    await fresh.tamper(
      'update policies set active = 0',
      `insert into policies (version, digest, file_name, text, compiled, applied_by, applied_at, active)
       select 2, digest, file_name, text, compiled, applied_by, applied_at, 1 from policies`,
    );
    expect(await found()).toEqual([
      'policies 1: active is 0, the audit says 1',
      'policies 2: is in no record of the audit',
    ]);
  });

  const missing = (table: string) =>
    `triggers ${table}: the trigger that makes it append-only is missing, switched off or another one`;

  it('finds a trigger that is missing, or that does nothing', async () => {
    const drop = {
      sqlite: ['drop trigger decisions_no_update'],
      postgres: ['drop trigger decisions_append_only on decisions'],
    };
    await fresh.change(...drop[kind]);
    expect(await found()).toEqual([missing('decisions')]);
    const weaken = {
      sqlite: [
        'drop trigger audit_no_delete',
        'create trigger audit_no_delete before delete on audit begin select 1; end',
      ],
      postgres: ['alter table audit disable trigger audit_append_only'],
    };
    await fresh.change(...weaken[kind]);
    expect(await found()).toEqual([missing('audit'), missing('decisions')]);
  });

  it('names no more than 100 rows', async () => {
    const openings = Array.from({ length: 120 }, (_, n) => {
      const requester = { subject: `someone-${n}`, agent: 'bot', chain: [] };
      return prepared({ turnId: `many${n}`, requester }).opening(active);
    });
    await ledger.openCalls(openings);
    await fresh.tamper(`update requests set state = 'denied'`);
    expect(await found()).toHaveLength(100);
  });
});
