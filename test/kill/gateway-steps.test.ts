import type { RunStep } from '../../activities/dependencies';
import { unknownOperations } from '../../ledger/queries';
import type { Store } from '../../ledger/transaction';
import { eventually } from '../support/eventually';
import { applyKillPolicy } from '../support/gateway-kill-policy';
import {
  allow,
  countedFacts,
  endGatewayProcesses,
  killedItself,
  openRequestWith,
  startGatewayProcess,
  toldUntilEnd,
} from '../support/gateway-kill-stage';
import { migration } from '../support/gateway-rows';
import { approvalOf, callTool, startGatewayStage, textOf, type GatewayStage } from '../support/gateway-stage';
import { freshDatabase } from '../support/postgres';

interface Killed {
  /** Names the call, and is in its arguments. */
  readonly name: string;
  readonly tool: 'apply_migration' | 'send_mail';
  readonly at: RunStep | 'effect';
  readonly server?: string;
  readonly subject?: string;
}

const argumentsOf = ({ tool, name }: Killed) => (tool === 'send_mail' ? { to: name } : migration(name));

/** Allows a call that a gateway holds, kills that gateway on the way, and makes the same call at another one until it ends. */
async function killedAt(stage: GatewayStage, killed: Killed) {
  const { tool, at, server = 'orders-db', subject = 'u1' } = killed;
  const given = argumentsOf(killed);
  const held = await startGatewayProcess(stage, at === 'effect' ? {} : { at: { step: at, signal: 'SIGKILL' } });
  const first = await stage.client({ gateway: held.gateway, server, subject });
  const answer = callTool(first, tool, given).then(textOf, (error: unknown) => `no answer: ${String(error)}`);
  const request = await openRequestWith(stage, killed.name);
  if (at === 'effect') stage.tools.behave(tool, { kind: 'commitThenSilent' }, 1);
  await allow(stage, request);
  if (at === 'effect') {
    await eventually(() => expect(runsOf(stage, request.operationId)).toBe(1));
    await held.child.kill9();
  } else {
    await killedItself(held);
  }
  expect((await held.child.exited).signal).toBe('SIGKILL');
  expect(await answer).toMatch(/^no answer: /);
  const second = await stage.client({ server, subject });
  const told = await toldUntilEnd(second, tool, given);
  const again = await callTool(second, tool, given);
  const { operationId } = request;
  // What is proven not to have happened is told once; the same call is then a new one.
  const isNew = told.status === 'failed';
  expect([told.end, again].map((each) => approvalOf(each).operationId === operationId)).toEqual([true, !isNew]);
  const facts = await countedFacts(stage, operationId);
  expect(facts).toMatchObject({ 'request.opened': 1, 'decision.recorded': 1, 'grant.issued': 1 });
  const received = stage.tools.receivedBy(tool).filter((call) => call.operationId === operationId).length;
  return { operationId, ...told, again: approvalOf(again).status, facts, runs: runsOf(stage, operationId), received };
}

const runsOf = ({ tools }: GatewayStage, operationId: string) =>
  tools.runs.filter((run) => run.operationId === operationId).length;

/** A stage of its own, for what changes a tool or needs another store. */
async function staged(store: Store['kind'], work: (stage: GatewayStage) => Promise<void>): Promise<void> {
  const database = store === 'postgres' ? await freshDatabase() : undefined;
  const own = await startGatewayStage({ waitForMs: 300, ...(database && { ledgerUrl: database.url }) });
  try {
    await applyKillPolicy(own);
    await work(own);
  } finally {
    await own.close();
    await database?.drop();
  }
}

const CASES = {
  before: { name: 'K before', tool: 'apply_migration', at: 'beforeTransaction' },
  after: { name: 'K after', tool: 'apply_migration', at: 'afterTransaction' },
  again: { name: 'K again', tool: 'apply_migration', at: 'afterTransaction', server: 'repeating' },
  mail: { name: 'k-after@example.org', tool: 'send_mail', at: 'afterTransaction', subject: 'u2' },
  answer: { name: 'K answer', tool: 'apply_migration', at: 'afterSend', subject: 'u2' },
  commit: { name: 'K commit', tool: 'apply_migration', at: 'beforeCommit', subject: 'u2' },
  sent: { name: 'k-sent@example.org', tool: 'send_mail', at: 'afterSend', subject: 'u2' },
} as const satisfies Record<string, Killed>;

type Ended = Awaited<ReturnType<typeof killedAt>>;

let stage: GatewayStage;
const ended = new Map<Killed, Promise<Ended | Error>>();
beforeAll(async () => {
  stage = await startGatewayStage({ waitForMs: 300 });
  await applyKillPolicy(stage);
  // All at once: most of their time is spent waiting for leases to end.
  for (const killed of Object.values(CASES)) {
    const asError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)));
    ended.set(killed, killedAt(stage, killed).catch(asError));
  }
}, 60_000);
afterAll(async () => {
  await endGatewayProcesses();
  await stage.close();
});

async function endOf(killed: Killed): Promise<Ended> {
  const end = await ended.get(killed);
  if (end === undefined || end instanceof Error) throw end ?? new Error(`${killed.name} was not begun`);
  return end;
}

describe('a gateway that is killed while it runs a tool', () => {
  it('before the transaction has sent nothing: the next identical call runs it, once [DUR-03]', async () => {
    const end = await endOf(CASES.before);
    expect(end).toMatchObject({ status: 'approved', again: 'approved', runs: 1, received: 1, before: ['allowed'] });
    expect(end.facts).toMatchObject({ 'operation.dispatched': 1 });
  });

  it('after the transaction, before the first byte: proven absent, so failed, never sent [EXEC-06] [GATE-3]', async () => {
    const end = await endOf(CASES.after);
    expect(end).toMatchObject({ status: 'failed', again: 'pending', runs: 0, received: 0, before: ['running'] });
    expect(end.text).toMatch(/^FAILED: nothing was done\. A look-up found that it had no effect/);
  });

  it('there, with a tool that is idempotent by operation id: sent again, one effect [EXEC-06]', async () => {
    const end = await endOf(CASES.again);
    expect(end).toMatchObject({ status: 'approved', again: 'approved', runs: 1, received: 1 });
    expect(end.before).not.toContain('pending');
    expect(end.facts).toMatchObject({ 'operation.dispatched': 1, 'operation.dispatchedAgain': 1 });
  });

  it('there, without a look-up: unknown, people are told, and a person settles it [EXEC-07]', async () => {
    const end = await endOf(CASES.mail);
    expect(end).toMatchObject({ status: 'unknown', again: 'unknown', runs: 0, received: 0, before: ['running'] });
    const { operationId } = end;
    expect((await unknownOperations(stage.store.db)).map((each) => each.operationId)).toContain(operationId);
    await stage.ledger.settle({ operationId, outcome: 'failed', by: 'r1', reason: 'not in the outbox' });
    const client = await stage.client({ subject: 'u2' });
    const settled = await callTool(client, 'send_mail', { to: CASES.mail.name });
    expect(approvalOf(settled)).toMatchObject({ status: 'failed', operationId });
    expect(textOf(settled)).toContain('A person established that');
  });

  it.each([
    { killed: CASES.answer, title: 'with the answer in hand' },
    { killed: CASES.commit, title: 'before the result is committed' },
  ])('$title: looked up by operation id, executed, one effect [EXEC-05] [GATE-4]', async ({ killed }) => {
    const end = await endOf(killed);
    expect(end).toMatchObject({ status: 'approved', again: 'approved', runs: 1, received: 1, before: ['running'] });
    expect(end.text).toMatch(/^EXECUTED: a look-up or a person established that the call took effect/);
  });

  it('with an answer in hand that cannot be looked up: unknown, one effect [GATE-4]', async () => {
    const end = await endOf(CASES.sent);
    expect(end).toMatchObject({ status: 'unknown', again: 'unknown', runs: 1, received: 1, before: ['running'] });
  });
});

describe('a gateway that is killed after the effect, before the answer', () => {
  test.concurrent.each(['sqlite', 'postgres'] as const)(
    'of a tool that can be looked up: executed, one effect, ledger on %s [EXEC-05] [GATE-4]',
    (store) =>
      staged(store, async (own) => {
        const end = await killedAt(own, { name: 'K effect', tool: 'apply_migration', at: 'effect' });
        expect(end).toMatchObject({ status: 'approved', again: 'approved', runs: 1, received: 1 });
        expect(end.before).toEqual(['running']);
      }),
  );

  test.concurrent('of one that cannot: unknown, one effect, settled as executed, and told so [GATE-4]', () =>
    staged('sqlite', async (own) => {
      const end = await killedAt(own, { name: 'k-effect@example.org', tool: 'send_mail', at: 'effect' });
      expect(end).toMatchObject({ status: 'unknown', again: 'unknown', runs: 1, received: 1, before: ['running'] });
      const { operationId } = end;
      await own.ledger.settle({ operationId, outcome: 'executed', by: 'r1', reason: 'seen in the outbox' });
      const settled = await callTool(await own.client(), 'send_mail', { to: 'k-effect@example.org' });
      expect(approvalOf(settled)).toMatchObject({ status: 'approved', operationId });
      expect(own.tools.runs).toHaveLength(1);
    }),
  );
});
