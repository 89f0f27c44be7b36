import { generateReviewerKey, signDecision } from '../../client/sign-decision';
import type { Decision } from '../../core/decision';
import { emergencyAsks } from '../../core/emergency';
import type { Ask } from '../../core/evaluation';
import type { Policy, SignInNeed } from '../../core/policy';
import { verifyAudit } from '../../ledger/audit-verify';
import { createLedger, type Active, type Ledger } from '../../ledger/ledger';
import { BREAK_GLASS, EMERGENCY } from '../support/emergency-policy';
import { activate, askOf, decisionFor, openPending, prepared } from '../support/ledger-fixture';
import { freshStore, STORE_KINDS, type FreshStore } from '../support/stores';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1, 10);
const [CONSOLE, OTHER_CONSOLE, OWN] = [generateReviewerKey(), generateReviewerKey(), generateReviewerKey()];
const FIVE: SignInNeed = { withinMs: 5 * MINUTE, acr: null };
const STRONG: SignInNeed = { withinMs: 5 * MINUTE, acr: ['phr'] };

/** r1 decides in the console, r2 by a key of their own; in an emergency o1, who needs a fresher sign-in. */
const POLICY: Policy = {
  ...EMERGENCY,
  trust: 'namespace',
  people: { ...EMERGENCY.people, r2: { ...EMERGENCY.people['r2']!, keys: [OWN.publicKey] } },
  console: { keys: [CONSOLE.publicKey], operators: { groups: [], people: [] } },
  rules: [{ ...BREAK_GLASS, signIn: { withinMs: MINUTE, acr: null } }],
};

describe.each(STORE_KINDS)('a rule that asks for a fresh sign-in, on %s', (kind) => {
  let fresh: FreshStore;
  let ledger: Ledger;
  let active: Active;
  let nowMs = T0;

  beforeAll(async () => {
    fresh = await freshStore(kind, { clock: () => nowMs });
    ledger = createLedger(fresh.store, { defaultTrust: 'namespace' });
    active = await activate(ledger, POLICY);
  });
  beforeEach(() => {
    nowMs = T0;
  });
  afterAll(async () => {
    const { rows } = await verifyAudit(fresh.store, { publicKeys: [] });
    await fresh.remove();
    expect(rows?.problems).toEqual([]);
  });

  const asking = (signIn: SignInNeed | null, version = 'v1'): Ask => ({
    ...askOf({ version }),
    ...(signIn !== null && { signIn }),
  });
  const opened = async (signIn: SignInNeed | null) => {
    const call = prepared({ ask: asking(signIn) });
    return { call, request: await openPending(ledger, call, active) };
  };
  type Opened = Awaited<ReturnType<typeof opened>>;
  const decide = async ({ call }: Opened, decision: Decision) =>
    (await ledger.recordDecision(decision, call.ref.workflowId)).verdict;
  const vouched = ({ request }: Opened, more: Partial<Decision>, key = CONSOLE.privateKey) =>
    signDecision(decisionFor(request, 'allow', { channel: 'console', ...more }), key);
  const send = ({ call }: Opened, ask: Ask) =>
    ledger.dispatch(
      call.dispatching(active, { ask, emergencies: emergencyAsks(active.policy, { ...call.ref, material: [] }, ask) }),
    );
  const refusedFacts = async ({ request }: Opened) => {
    const rows = await fresh.store.db
      .selectFrom('audit')
      .select(['kind', 'body'])
      .where('operation_id', '=', request.operationId)
      .where('kind', 'like', 'decision.%')
      .execute();
    return rows.map(({ kind: fact, body }) => ({ kind: fact, ...(JSON.parse(body) as object) }));
  };

  test('counts an allow whose sign-in is fresh, with the sign-in on record, and sends it', async () => {
    const given = await opened(STRONG);
    expect(given.request.ask.signIn).toEqual(STRONG);
    const signIn = { atMs: T0 - 5 * MINUTE, acr: 'phr' };
    expect(await decide(given, vouched(given, { signIn }))).toMatchObject({ code: 'accepted', state: 'allowed' });
    expect(await refusedFacts(given)).toMatchObject([{ kind: 'decision.recorded', signature: 'vouched', signIn }]);
    nowMs += 30 * MINUTE - 1;
    expect((await send(given, asking(STRONG))).kind).toBe('dispatched');
  });

  test.each<[string, Decision['signIn']]>([
    ['too old', { atMs: T0 - 5 * MINUTE - 1, acr: 'phr' }],
    ['missing', undefined],
    ['dated ahead', { atMs: T0 + MINUTE + 1, acr: 'phr' }],
    ['of another class', { atMs: T0, acr: 'pwd' }],
  ])('refuses an allow whose sign-in is %s: on record, and the request waits on', async (_name, signIn) => {
    const given = await opened(STRONG);
    const verdict = await decide(given, vouched(given, signIn === undefined ? {} : { signIn }));
    expect(verdict).toMatchObject({ code: 'signInNeeded', state: 'pending', counted: { allows: 0, needed: 1 } });
    expect(await refusedFacts(given)).toMatchObject([
      { kind: 'decision.notCounted', code: 'signInNeeded', reviewer: 'r1', ...(signIn !== undefined && { signIn }) },
    ]);
    expect((await send(given, asking(STRONG))).kind).toBe('state');
  });

  test('refuses what is attested under a key that is not the console’s, or was changed after it was signed', async () => {
    const given = await opened(FIVE);
    const forged = vouched(given, { signIn: { atMs: T0 } }, OTHER_CONSOLE.privateKey);
    const stale = vouched(given, { signIn: { atMs: T0 - 60 * MINUTE } });
    const changed = { ...stale, signIn: { atMs: T0 } };
    const { signIn: _signIn, ...removed } = stale;
    // r1 has no key, so where unsigned decisions count these are judged as unsigned ones, which prove no sign-in.
    for (const decision of [forged, changed, removed])
      expect(await decide(given, decision)).toMatchObject({ code: 'signInNeeded', state: 'pending' });
    await activate(ledger, { ...POLICY, trust: 'signatures' });
    for (const decision of [forged, changed, removed])
      expect(await decide(given, decision)).toMatchObject({ code: 'badSignature' });
    active = await activate(ledger, POLICY);
    expect(await decide(given, stale)).toMatchObject({ code: 'signInNeeded' });
  });

  test('takes a key of the reviewer’s own for a sign-in of that moment, but for no class; nothing unsigned', async () => {
    const [plain, strong] = [await opened(FIVE), await opened(STRONG)];
    const own = { reviewer: 'r2', channel: 'cli' } as const;
    const unsigned = decisionFor(plain.request, 'allow', { signIn: { atMs: T0 } });
    expect(await decide(plain, unsigned)).toMatchObject({ code: 'signInNeeded', state: 'pending' });
    expect(await decide(plain, vouched(plain, own, OWN.privateKey))).toMatchObject({ code: 'accepted' });
    const claimed = { ...own, signIn: { atMs: T0, acr: 'phr' } };
    expect(await decide(strong, vouched(strong, claimed, OWN.privateKey))).toMatchObject({ code: 'signInNeeded' });
    expect((await send(plain, asking(FIVE))).kind).toBe('dispatched');
  });

  test('lets a denial end it without any sign-in', async () => {
    const given = await opened(STRONG);
    const denial = decisionFor(given.request, 'deny', { reason: 'no' });
    expect(await decide(given, denial)).toMatchObject({ code: 'accepted', state: 'denied' });
  });

  test('asks for it in an emergency too, by the stricter of both rules', async () => {
    const given = await opened(FIVE);
    const emergency = { rule: 'break-glass', ticket: 'INC-7' };
    const allowing = (atMs: number) =>
      vouched(given, { reviewer: 'o1', reason: 'the site is down', emergency, signIn: { atMs } });
    expect(await decide(given, allowing(T0 - MINUTE - 1))).toMatchObject({ code: 'signInNeeded', state: 'pending' });
    expect(await decide(given, allowing(T0 - MINUTE))).toMatchObject({ code: 'accepted', state: 'allowed' });
    expect(await send(given, asking(FIVE))).toMatchObject({ kind: 'dispatched', approval: { emergency: true } });
  });

  test.each<[string, SignInNeed | null, SignInNeed]>([
    ['gains it', null, FIVE],
    ['asks for a fresher one', FIVE, { withinMs: MINUTE, acr: null }],
    ['asks for a class', FIVE, STRONG],
  ])('a rule that %s after the approval asks again before anything is sent', async (_name, then, now) => {
    const given = await opened(then);
    expect(await decide(given, vouched(given, { signIn: { atMs: T0 } }))).toMatchObject({ code: 'accepted' });
    expect(await send(given, asking(now, 'v2'))).toEqual({ kind: 'stale', cause: 'ruleChanged' });
    expect((await send(given, asking(then, 'v3'))).kind).toBe('dispatched');
  });

  test('reads the sign-in out of the signed decision again at the dispatch, whatever the terms of the grant say', async () => {
    const given = await opened(null);
    expect(await decide(given, vouched(given, { signIn: { atMs: T0 - 6 * MINUTE } }))).toMatchObject({
      code: 'accepted',
    });
    // The same rules in the same version, as after a hand on the rows: what was attested does not satisfy them.
    expect(await send(given, asking(FIVE))).toEqual({ kind: 'stale', cause: 'reviewerChanged' });
  });
});
