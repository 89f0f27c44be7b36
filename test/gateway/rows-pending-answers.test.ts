import { CallToolResultSchema, ListToolsResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { pendingApproval } from '../../client';
import { applyGatewayPolicy } from '../support/gateway-policy';
import {
  called,
  callText,
  collected,
  effectsOf,
  migration,
  openRequest,
  openRequests,
  parsed,
  rawClient,
} from '../support/gateway-rows';
import { approvalOf, startGatewayStage, textOf, type GatewayStage } from '../support/gateway-stage';
import { eventually } from '../support/eventually';
import { withdrawOpen } from '../support/messages';

let stage: GatewayStage;
beforeAll(async () => {
  stage = await startGatewayStage({ waitForMs: 600 });
});
afterAll(() => stage.close());
beforeEach(() => apply());
afterEach(() => withdrawOpen(stage));

const apply = (more: { deadline?: string } = {}) =>
  applyGatewayPolicy(stage, { servers: { 'orders-db': { url: stage.tools.url } }, ...more });
const pendingOf = async (sql: string) => {
  const client = await stage.client();
  const result = await called(client, 'apply_migration', migration(sql));
  return { client, result, ...approvalOf(result) };
};

describe('the pending answer', () => {
  it('says that nothing was executed, what to do and when to come back, in text and in metadata [EVT-03] [GATE-10]', async () => {
    const { result, operationId } = await pendingOf('waits');
    const request = await openRequest(stage, operationId);
    expect(result.isError).toBe(false);
    expect(textOf(result)).toMatch(/^NOT EXECUTED: this call waits for approval by a person\./);
    expect(textOf(result)).toContain('neither a success nor a failure');
    expect(textOf(result)).toContain('not before 5 seconds from now');
    expect(textOf(result)).toContain(request.shortId);
    expect(result.structuredContent).toBeUndefined();
    expect(pendingApproval(result)).toEqual({
      ...{ status: 'pending', operationId, revision: 1, retryAfterMs: 5_000, reviewUrl: null },
      deadlineAtMs: request.deadlineAtMs,
    });
    expect(approvalOf(result)).toMatchObject({
      ...{ version: 1, digest: request.bindingDigest, rule: { id: 'ask-orders-db' } },
    });
    expect(JSON.stringify(result)).not.toContain('r1');
    expect(effectsOf(stage.tools, 'waits')).toBe(0);
  });

  it('fits the schema that the tool is listed with, and real results are still held to it [GATE-11]', async () => {
    const outputSchema = {
      type: 'object',
      properties: { rows: { type: 'integer' } },
      required: ['rows'],
      additionalProperties: false,
    };
    stage.tools.changeTool('delete_rows', { outputSchema });
    const client = await stage.client();
    await client.listTools();
    const waiting = await client.callTool({ name: 'delete_rows', arguments: { id: 1 } });
    const found = pendingApproval(waiting);
    expect(found?.status).toBe('pending');
    expect(waiting['structuredContent']).toMatchObject({
      holdpoint: { status: 'pending', operationId: found?.operationId },
    });
    // What the tool gives has no `rows`: the client refuses it as it would without a gateway.
    const failure = await eventually(async () => {
      // A gateway that has listed the tool just before asks anew, under the definition as it is now.
      for (const request of await openRequests(stage)) await stage.decide(request, 'allow');
      const call = client.callTool({ name: 'delete_rows', arguments: { id: 1 } });
      const outcome: unknown = await call.catch((error: unknown) => error);
      if (outcome instanceof Error) return outcome;
      throw new Error(`still ${String(pendingApproval(outcome)?.status)}`);
    });
    expect(failure.message).toContain("does not match the tool's output schema");
    expect(stage.tools.runsOf('delete_rows')).toHaveLength(1);
    stage.tools.changeTool('delete_rows', {});
  });

  it('lists the original schema whole, beside the pending form [GATE-11]', async () => {
    const outputSchema = { type: 'object', properties: { rows: { type: 'integer' } }, required: ['rows'] };
    stage.tools.changeTool('delete_rows', { outputSchema });
    const client = await stage.client();
    const { tools } = await client.request({ method: 'tools/list', params: {} }, ListToolsResultSchema);
    const listed: Record<string, unknown> = tools.find(({ name }) => name === 'delete_rows')?.outputSchema ?? {};
    expect(listed['anyOf']).toMatchObject([outputSchema, { required: ['holdpoint'] }]);
    expect(tools.find(({ name }) => name === 'find_migration')?.outputSchema).toEqual({
      ...{ type: 'object', properties: { applied: { type: 'boolean' } }, required: ['applied'] },
    });
    stage.tools.changeTool('delete_rows', {});
  });
});

describe('a client that asked for progress', () => {
  it('hears what waits, for whom and how long, on a stream that begins with the first notification [EVT-08]', async () => {
    const client = await rawClient(stage);
    const meta = { _meta: { progressToken: 'tok' } };
    const answering = client.post(callText(5, 'apply_migration', migration('progress'), meta));
    const request = await openRequest(stage, 'progress');
    const answer = await answering;
    expect(answer.headers['content-type']).toBe('text/event-stream');
    const [first] = await eventually(() => {
      if (answer.messages.length === 0) throw new Error('nothing yet');
      return answer.messages.map((text) => JSON.parse(text) as { method: string; params: Record<string, unknown> });
    });
    expect(first?.method).toBe('notifications/progress');
    expect(first?.params).toMatchObject({ progressToken: 'tok', progress: 1 });
    expect(first?.params['message']).toMatch(
      /^apply_migration waits for approval by a person \(short id \w{8}\): not executed\. 29 min left until it expires$/,
    );
    expect(first?.params['message']).toContain(request.shortId);
    await stage.decide(request, 'allow');
    const messages = await parsed(Promise.resolve(answer));
    expect(messages.at(-1)).toMatchObject({ id: 5, result: { structuredContent: { done: true } } });
    expect(effectsOf(stage.tools, 'progress')).toBe(1);
  });

  it('that joins a call which waits already hears it too, and a client of the SDK takes it [EVT-08]', async () => {
    const { operationId } = await pendingOf('joined');
    const heard: unknown[] = [];
    const client = await stage.client();
    const call = client.callTool({ name: 'apply_migration', arguments: migration('joined') }, CallToolResultSchema, {
      onprogress: (progress) => heard.push(progress),
      resetTimeoutOnProgress: true,
    });
    await eventually(() => expect(heard).toHaveLength(1));
    expect(JSON.stringify(heard)).toContain('apply_migration waits for approval');
    await stage.decide(await openRequest(stage, operationId), 'allow');
    expect(approvalOf(CallToolResultSchema.parse(await call))).toMatchObject({ status: 'approved', operationId });
  });

  it('but takes no stream, gets its answer as before', async () => {
    const client = await rawClient(stage);
    const meta = { _meta: { progressToken: 1 } };
    const body = callText(6, 'apply_migration', migration('no stream'), meta);
    const answer = await client.post(body, { Accept: 'application/json' });
    const [message] = await parsed(Promise.resolve(answer));
    expect(answer.headers['content-type']).toBe('application/json');
    expect(message?.['result']).toMatchObject({ _meta: { 'dev.holdpoint/approval': { status: 'pending' } } });
  });
});

describe('a deadline that passes', () => {
  it('while the client waits is told as expired: not executed, silence is no consent [GATE-6]', async () => {
    await apply({ deadline: '{ after: 2s, then: expire }' });
    const patient = await stage.anotherGateway({ waitForMs: 20_000 });
    const client = await stage.client({ gateway: patient });
    const result = await called(client, 'apply_migration', migration('expires'));
    expect(result.isError).toBe(true);
    expect(approvalOf(result)).toMatchObject({ status: 'expired' });
    expect(textOf(result)).toMatch(/^EXPIRED: not executed\. Nobody answered the approval request in time/);
    expect(textOf(result)).toContain('silence is no consent');
    expect(effectsOf(stage.tools, 'expires')).toBe(0);
  });

  it('while nobody waits is told once to the next identical call, and then the call is a new one [GATE-6]', async () => {
    await apply({ deadline: '{ after: 1s, then: expire }' });
    const { client, operationId } = await pendingOf('expired unseen');
    await eventually(async () => {
      const kinds = (await stage.facts(operationId)).map(({ kind }) => kind);
      if (!kinds.includes('request.expired')) throw new Error(kinds.join());
    });
    await apply();
    const told = approvalOf(await called(client, 'apply_migration', migration('expired unseen')));
    expect(told).toMatchObject({ status: 'expired', operationId });
    await eventually(async () => {
      const next = approvalOf(await called(client, 'apply_migration', migration('expired unseen')));
      if (next.status !== 'pending') throw new Error(next.status);
      expect(next.operationId).not.toBe(operationId);
    });
  });
});

describe('a denial', () => {
  const denied = async (sql: string, reason?: string) => {
    const { client, operationId } = await pendingOf(sql);
    const more = reason === undefined ? {} : { reason };
    await stage.decide(await openRequest(stage, operationId), 'deny', more);
    const result = await called(client, 'apply_migration', migration(sql));
    return { client, operationId, result };
  };

  it('without a reason says that this request is closed, and what not to do [DENY-03]', async () => {
    const { operationId, result } = await denied('deny a');
    expect(result.isError).toBe(true);
    expect(approvalOf(result)).toMatchObject({ status: 'denied', operationId });
    expect(textOf(result)).toMatch(/^DENIED: not executed\./);
    expect(textOf(result)).toContain('No reason was given.');
    expect(textOf(result)).toContain('This request is closed: do not repeat the call, do not work around it.');
    expect(effectsOf(stage.tools, 'deny a')).toBe(0);
  });

  it("with a reason is the same, and the reason stands there as the reviewer's words [DENY-04] [GATE-9]", async () => {
    const { operationId, result } = await denied('deny b', 'use the staging copy');
    expect(result.isError).toBe(true);
    expect(approvalOf(result)).toMatchObject({ status: 'denied', operationId });
    expect(textOf(result)).toContain('The reviewer\'s words: "use the staging copy".');
    expect(JSON.stringify(approvalOf(result))).not.toContain('staging');
  });

  it('of one call leaves others open [GATE-9]', async () => {
    const other = await pendingOf('stays open');
    await denied('deny c');
    expect((await openRequest(stage, other.operationId)).arguments['sql']).toBe('stays open');
    await stage.decide(await openRequest(stage, other.operationId), 'allow');
    const done = await collected(other.client, 'apply_migration', migration('stays open'));
    expect(approvalOf(done).status).toBe('approved');
  });

  it('while the client waits wakes it [GATE-9]', async () => {
    const patient = await stage.anotherGateway({ waitForMs: 20_000 });
    const call = called(await stage.client({ gateway: patient }), 'apply_migration', migration('deny d'));
    await stage.decide(await openRequest(stage, 'deny d'), 'deny');
    expect(approvalOf(await call).status).toBe('denied');
  });
});

describe('what an answer says of an approval that came while its client waited', () => {
  it('names its request, the rules and the grant, and no reviewer', async () => {
    const patient = await stage.anotherGateway({ waitForMs: 20_000 });
    const call = called(await stage.client({ gateway: patient }), 'apply_migration', migration('facts'));
    const request = await openRequest(stage, 'facts');
    await stage.decide(request, 'allow');
    const result = await call;
    const rule = { id: 'ask-orders-db', version: request.ask.rule?.version };
    expect(approvalOf(result)).toMatchObject({
      ...{ status: 'approved', revision: 1, digest: request.bindingDigest, rule, askedRule: rule, permittedRule: rule },
      request: { operationId: request.operationId, revision: 1 },
    });
    expect(JSON.stringify(approvalOf(result))).not.toContain('r1');
  });
});
