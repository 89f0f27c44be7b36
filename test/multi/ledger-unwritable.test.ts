import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { eventually } from '../support/eventually';
import { decisionOn, startHarness, type Harness } from '../support/harness';
import { LEDGER_FAULTS } from '../support/ledger-faults';
import { freshDatabase } from '../support/postgres';

const MAIL = { id: 'c1', server: 'orders-db', tool: 'send_mail', arguments: { to: 'ops@example.org' } };

describe.each(Object.entries(LEDGER_FAULTS))(
  'a ledger that cannot be written for %s',
  (_name, { kind, refuses, strike }) => {
    let url: string;
    let remove: () => Promise<void>;
    let harness: Harness;
    let atDispatch: (() => Promise<void>) | undefined;

    beforeAll(async () => {
      if (kind === 'postgres') {
        const database = await freshDatabase();
        [url, remove] = [database.url, database.drop];
      } else {
        const folder = await mkdtemp(join(tmpdir(), 'holdpoint-fault-'));
        url = pathToFileURL(join(folder, 'ledger.db')).href;
        remove = () => rm(folder, { recursive: true, force: true });
      }
      const onStep = async (step: string) => {
        if (step === 'beforeTransaction') await atDispatch?.();
      };
      harness = await startHarness({ ledgerUrl: url, onStep });
    }, 30_000);
    afterAll(async () => {
      await harness.close();
      await remove();
    });

    const storeName = () => (kind === 'sqlite' ? new URL(url).pathname : `postgres://${new URL(url).host}`);
    const strikeNow = () => strike({ ledger: harness.ledger, url });

    test('at the decision: notRecorded, naming the store; nothing is sent, and the same decision counts later [TIME2-12]', async () => {
      const turn = await harness.start([MAIL]);
      const [request] = await harness.requests(turn);
      const decision = decisionOn(request!, 'allow');
      const mend = await strikeNow();
      const verdict = await harness.holdpoint.decide(turn.workflowId, decision).finally(mend);
      expect(verdict).toMatchObject({ code: 'notRecorded', state: null });
      expect(verdict.detail).toContain(storeName());
      expect(harness.tools.receivedBy('send_mail')).toEqual([]);
      expect(await harness.holdpoint.decide(turn.workflowId, decision)).toMatchObject({
        code: 'accepted',
        decidedBy: ['r1'],
      });
      expect((await turn.results())[0]).toMatchObject({ outcome: 'executed' });
      const recorded = (await harness.facts(request!.operationId)).filter((fact) => fact.kind === 'decision.recorded');
      expect(recorded).toHaveLength(1);
      expect(harness.tools.receivedBy('send_mail')).toHaveLength(1);
    });

    test('at the dispatch: nothing is sent while it lasts; then the call runs, once [TIME2-12]', async () => {
      const before = harness.tools.received.length;
      const turn = await harness.start([MAIL]);
      const [request] = await harness.requests(turn);
      let mend: (() => Promise<void>) | undefined;
      atDispatch = async () => {
        atDispatch = undefined;
        mend = await strikeNow();
      };
      expect((await harness.decide(request!, 'allow')).code).toBe('accepted');
      await eventually(() => expect(mend).toBeDefined());
      const struckAtMs = Date.now();
      await eventually(() => expect(Date.now()).toBeGreaterThan(struckAtMs + 1_500));
      expect(await harness.ledger.operation(request!.operationId).catch(() => null)).toBeNull();
      expect(harness.tools.received.slice(before).filter((call) => call.tool === 'send_mail')).toEqual([]);
      const failures = await activityFailures(harness, turn.workflowId);
      await mend?.();
      if (refuses) expect(failures[0]).toContain(storeName());
      expect((await turn.results())[0]).toMatchObject({ outcome: 'executed' });
      expect(harness.tools.received.slice(before).filter((call) => call.tool === 'send_mail')).toHaveLength(1);
    });

    test('while the tool runs: its answer goes back through Temporal and is on record when the ledger is', async () => {
      const turn = await harness.start([MAIL]);
      const [request] = await harness.requests(turn);
      harness.tools.behave('send_mail', { kind: 'hold' }, 1);
      const before = harness.tools.receivedBy('send_mail').length;
      await harness.decide(request!, 'allow');
      await eventually(() => expect(harness.tools.receivedBy('send_mail')).toHaveLength(before + 1));
      const mend = await strikeNow();
      harness.tools.release('send_mail');
      await eventually(() => expect(harness.tools.runsOf('send_mail')).toHaveLength(before + 1));
      const struckAtMs = Date.now();
      await eventually(() => expect(Date.now()).toBeGreaterThan(struckAtMs + 1_000));
      await mend();
      expect((await turn.results())[0]).toMatchObject({ outcome: 'executed', end: { evidence: 'answer' } });
      expect(await harness.ledger.operation(request!.operationId)).toMatchObject({
        state: 'executed',
        evidence: 'answer',
      });
      expect(harness.tools.receivedBy('send_mail')).toHaveLength(before + 1);
    });
  },
);

/** What an operator reads in the history of a turn. */
async function activityFailures({ holdpoint }: Harness, workflowId: string): Promise<readonly string[]> {
  const { events = [] } = await holdpoint.client.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).flatMap((event) => event.activityTaskFailedEventAttributes?.failure?.message ?? []);
}
