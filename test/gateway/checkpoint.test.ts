import { cardText } from '../../cli/card';
import { paintFor } from '../../cli/paint';
import { listRequests } from '../../ledger/queries';
import { eventually } from '../support/eventually';
import { approvalOf, callTool, startGatewayStage, type GatewayStage } from '../support/gateway-stage';

const CHECKPOINT = { harness: 'claude-code', asked: 'Run apply_migration?', answered: 'yes', by: 'amira' };

describe('a checkpoint that another harness says it has taken', () => {
  let stage: GatewayStage;
  beforeAll(async () => {
    stage = await startGatewayStage();
  }, 60_000);
  afterAll(() => stage.close());

  const call = async (sql: string, checkpoint: unknown) =>
    callTool(
      await stage.client(),
      'apply_migration',
      { environment: 'production', sql },
      { 'dev.holdpoint/checkpoint': checkpoint },
    );
  const requestOf = (operationId: string) =>
    eventually(async () => {
      const records = await listRequests(stage.store.db);
      const record = records.find(({ request }) => request.operationId === operationId);
      if (record === undefined) throw new Error('it is not open');
      return record;
    });

  test('is a fact on the card, as the caller said it, and no approval', async () => {
    const { operationId, status } = approvalOf(await call('CHECKED', CHECKPOINT));
    expect(status).toBe('pending');
    const { request, standing } = await requestOf(operationId);
    expect(request.context).toEqual({ checkpoint: CHECKPOINT });
    const view = { request, standing, decisions: [], policy: null, trust: null, nowMs: 0 };
    const card = cardText(view, paintFor({ color: false }));
    expect(card).toContain('a checkpoint that the caller says it has taken (a fact of the caller, no approval)');
    expect(card).toContain('claude-code');
    expect(stage.tools.runsOf('apply_migration')).toHaveLength(0);
  });

  test('changes nothing of what is asked: the same call with another one is the same operation', async () => {
    const first = approvalOf(await call('TWICE', CHECKPOINT));
    const second = approvalOf(await call('TWICE', { ...CHECKPOINT, answered: 'no' }));
    expect(second.operationId).toBe(first.operationId);
    const { request } = await requestOf(first.operationId);
    expect(request.context?.checkpoint).toEqual(CHECKPOINT);
  });

  test('that is too long to be shown is refused before anybody is asked', async () => {
    const answer = await call('LONG', { words: 'x'.repeat(20_000) });
    expect(answer.isError).toBe(true);
    expect(approvalOf(answer)).toMatchObject({ status: 'refused', code: 'TURN_INVALID' });
    expect((await listRequests(stage.store.db)).some(({ request }) => request.arguments['sql'] === 'LONG')).toBe(false);
  });
});
