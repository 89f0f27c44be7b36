import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { CallToolResultSchema, CreateTaskResultSchema, GetTaskResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { listRequests } from '../../ledger/queries';
import { eventually } from '../support/eventually';
import { approvalOf, callTool, startGatewayStage, type GatewayStage } from '../support/gateway-stage';

describe('a protected call for which its client asks a task', () => {
  let stage: GatewayStage;
  beforeAll(async () => {
    stage = await startGatewayStage();
    stage.tools.changeTool('apply_migration', { execution: { taskSupport: 'optional' } });
  }, 60_000);
  afterAll(() => stage.close());

  const given = (sql: string) => ({ environment: 'production', sql });
  const ran = (sql: string) => stage.tools.runs.filter((run) => run.arguments['sql'] === sql).length;
  const begin = async (client: Client, sql: string) => {
    const params = { name: 'apply_migration', arguments: given(sql), task: { ttl: 60_000 } };
    return (await client.request({ method: 'tools/call', params }, CreateTaskResultSchema)).task;
  };
  const get = (client: Client, taskId: string) =>
    client.request({ method: 'tasks/get', params: { taskId } }, GetTaskResultSchema);
  const resultOf = (client: Client, taskId: string) =>
    client.request({ method: 'tasks/result', params: { taskId } }, CallToolResultSchema);
  const requestOf = (operationId: string) =>
    eventually(async () => {
      const open = await listRequests(stage.store.db);
      const found = open.find(({ request }) => request.operationId === operationId);
      if (found === undefined) throw new Error('not open yet');
      return found.request;
    });

  test('works on it until people have decided, then runs once and gives the result [BYPASS-8]', async () => {
    const client = await stage.client();
    const task = await begin(client, 'TASK');
    expect(task.status).toBe('working');
    expect(ran('TASK')).toBe(0);
    const request = await requestOf(task.taskId);
    expect(await get(client, task.taskId)).toMatchObject({
      status: 'working',
      statusMessage: expect.stringMatching(/^NOT EXECUTED: waits for approval/) as string,
    });
    const result = resultOf(client, task.taskId);
    await stage.decide(request, 'allow');
    expect(approvalOf(await result)).toMatchObject({ status: 'approved', operationId: task.taskId });
    expect((await get(client, task.taskId)).status).toBe('completed');
    expect(ran('TASK')).toBe(1);
  });

  test('runs after the allow although nobody waits, since the task stands for its client', async () => {
    const client = await stage.client();
    const { taskId } = await begin(client, 'ALONE');
    await stage.decide(await requestOf(taskId), 'allow');
    await eventually(async () => {
      const { status } = await get(client, taskId);
      if (status !== 'completed') throw new Error(status);
    });
    expect(ran('ALONE')).toBe(1);
  });

  test('is the same operation as the call without a task', async () => {
    const client = await stage.client();
    const { taskId } = await begin(client, 'SAME');
    expect(approvalOf(await callTool(client, 'apply_migration', given('SAME'))).operationId).toBe(taskId);
  });

  test('is unknown to everybody else, in the same words as one that never was [BYPASS-8]', async () => {
    const owner = await stage.client();
    const { taskId } = await begin(owner, 'MINE');
    const other = await stage.client({ subject: 'u2' });
    const never = `op_${'0'.repeat(40)}`;
    for (const ask of [get, resultOf]) {
      const [theirs, none] = await Promise.all(
        [taskId, never].map((id) =>
          ask(other, id).then(
            () => 'answered',
            (error: unknown) => String(error),
          ),
        ),
      );
      expect(theirs).toMatch(/There is no such task here/);
      expect(theirs).toBe(none);
    }
  });

  test('fails where it is denied, and its result says so', async () => {
    const client = await stage.client();
    const { taskId } = await begin(client, 'DENIED');
    await stage.decide(await requestOf(taskId), 'deny', { reason: 'not today' });
    const result = await resultOf(client, taskId);
    expect(result.isError).toBe(true);
    expect(approvalOf(result).status).toBe('denied');
    expect(await get(client, taskId)).toMatchObject({ status: 'failed', statusMessage: 'DENIED' });
    expect(ran('DENIED')).toBe(0);
  });

  test('is cancelled before it was sent, and not after', async () => {
    const client = await stage.client();
    const cancel = (taskId: string) =>
      client.request({ method: 'tasks/cancel', params: { taskId } }, GetTaskResultSchema);
    const first = await begin(client, 'CANCELLED');
    await requestOf(first.taskId);
    expect((await cancel(first.taskId)).status).toBe('cancelled');
    expect(
      await listRequests(stage.store.db).then((open) => open.map(({ request }) => request.operationId)),
    ).not.toContain(first.taskId);
    const second = await begin(client, 'SENT');
    const request = await requestOf(second.taskId);
    await stage.decide(request, 'allow');
    await resultOf(client, second.taskId);
    // Also where its turn is over, and takes no message any more.
    await stage.holdpoint.client.workflow.getHandle(request.workflowId).result();
    await expect(cancel(second.taskId)).rejects.toThrow(/cannot be cancelled/);
    expect([ran('CANCELLED'), ran('SENT')]).toEqual([0, 1]);
  });

  test('is none for a tool that admits no task: the call is answered as any other', async () => {
    const client = await stage.client();
    const params = { name: 'delete_rows', arguments: { id: 7 }, task: { ttl: 60_000 } };
    const answer = await client.request({ method: 'tools/call', params }, CallToolResultSchema);
    expect(approvalOf(answer).status).toBe('pending');
  });
});
