import { eventually } from '../support/eventually';
import { freshDatabase, type FreshDatabase } from '../support/postgres';
import { startStage, type Stage } from '../support/stage';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';

const ACTIVITY_TASK_COMPLETED = 12;
const MAIL = { id: 'c1', server: 'orders-db', tool: 'send_mail', arguments: { to: 'ops@example.org' } };

describe('a ledger that goes down while a tool runs', () => {
  let database: FreshDatabase;
  let proxy: TcpProxy;
  let stage: Stage;

  beforeAll(async () => {
    database = await freshDatabase();
    const { hostname, port } = new URL(database.url);
    proxy = await startTcpProxy({ host: hostname, port: Number(port) });
    stage = await startStage({ ledgerUrl: database.url });
  }, 30_000);
  afterAll(async () => {
    await stage.close();
    await proxy.cut();
    await database.drop();
  });

  /** The ledger as the workers reach it; this process has a way of its own. */
  const cutOffWorker = () => {
    const url = new URL(database.url);
    url.port = String(proxy.port);
    return stage.workerProcess({ ledgerUrl: url.href });
  };
  const completedActivities = async (workflowId: string) => {
    const { events } = await stage.holdpoint.client.workflow.getHandle(workflowId).fetchHistory();
    return (events ?? []).filter((event) => Number(event.eventType) === ACTIVITY_TASK_COMPLETED).length;
  };

  test('and whose worker is then killed: the answer is in the history, and on record when both are back', async () => {
    const worker = await cutOffWorker();
    const turn = await stage.start([MAIL]);
    const [request] = await stage.requests(turn);
    const before = await completedActivities(turn.workflowId);
    stage.tools.behave('send_mail', { kind: 'hold' }, 1);
    await stage.decide(request!, 'allow');
    await eventually(() => expect(stage.tools.receivedBy('send_mail')).toHaveLength(1));
    await proxy.cut();
    stage.tools.release('send_mail');
    await eventually(async () => expect(await completedActivities(turn.workflowId)).toBe(before + 1));
    await worker.kill9();
    expect(await stage.ledger.operation(request!.operationId)).toMatchObject({ state: 'dispatched' });
    await proxy.mend();
    await cutOffWorker();
    const [result] = await turn.results();
    expect(result).toMatchObject({ outcome: 'executed', end: { evidence: 'answer' } });
    expect(result!.result).toMatchObject({ structuredContent: { done: true, tool: 'send_mail' } });
    expect(await stage.ledger.operation(request!.operationId)).toMatchObject({ state: 'executed', evidence: 'answer' });
    expect(stage.tools.receivedBy('send_mail')).toHaveLength(1);
  });
});
