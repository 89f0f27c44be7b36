import { randomUUID } from 'node:crypto';
import type { Holdpoint } from '../client';
import { startTurn } from '../client/start-turn';
import { isJsonObject, type JsonObject, type JsonValue } from '../core/json';
import type { ApprovalRequest } from '../core/request';
import { turnWorkflowId } from '../core/turn';
import type { TurnResult } from '../core/turn-packing';
import { TASK_QUEUE } from '../workflows/messages';
import { ASKED_TOOL, FREE_TOOL, REVIEWER, SERVER } from './policy';
import type { CountingSubject } from './subject';

type AgentTurn = (input: unknown) => Promise<TurnResult>;

/** Holdpoint, through the same client as a runtime and a reviewer use. */
export function holdpointSubject(holdpoint: Holdpoint): CountingSubject {
  const { client } = holdpoint;
  let executed = 0;
  const effectOf = (result: TurnResult): bigint => {
    const atNs = effectIn(result);
    executed += 1;
    return atNs;
  };
  const start = async (tool: string, args: JsonObject) => {
    const id = randomUUID();
    const subject = `user:${id}`;
    const calls = [{ id: 'c1', server: SERVER, tool, arguments: args }];
    const snapshot = await startTurn(client, { id, requester: { subject, agent: 'bench' }, calls }, TASK_QUEUE);
    const handle = client.workflow.getHandle<AgentTurn>(turnWorkflowId(subject, id));
    return { snapshot, handle };
  };
  return {
    executed: () => executed,
    async open() {
      const sql = `ALTER TABLE orders ADD COLUMN note_${randomUUID().slice(0, 8)} TEXT`;
      const { snapshot, handle } = await start(ASKED_TOOL, { environment: 'production', sql });
      const [request] = snapshot?.requiredActions ?? [];
      if (snapshot === null) throw new Error('no worker answered in 5 s: this machine has too much else to do');
      if (request === undefined) throw new Error(`no request is open: ${JSON.stringify(snapshot)}`);
      return {
        workflowId: handle.workflowId,
        decide: async () => {
          const verdict = await holdpoint.decide(handle.workflowId, decisionOn(request));
          if (verdict.code !== 'accepted') throw new Error(`the decision is ${verdict.code}: ${verdict.detail}`);
        },
        effectNs: async () => effectOf(await handle.result()),
      };
    },
    async runFree() {
      const { handle } = await start(FREE_TOOL, { table: 'orders' });
      effectOf(await handle.result());
      return handle.workflowId;
    },
  };
}

function decisionOn({ operationId, revision, bindingDigest }: ApprovalRequest) {
  return {
    v: 1,
    decisionId: randomUUID(),
    operationId,
    revision,
    digest: bindingDigest,
    answer: 'allow',
    reviewer: REVIEWER,
    channel: 'update',
  } as const;
}

function effectIn({ results }: TurnResult): bigint {
  const end = results[0]?.end;
  if (end?.outcome !== 'executed' || end.result?.kind !== 'inline')
    throw new Error(`not executed: ${JSON.stringify(end)}`);
  const content = member(end.result.value, 'structuredContent');
  const atNs = content === undefined ? undefined : member(content, 'atNs');
  if (typeof atNs !== 'string') throw new Error(`the tool gave no time: ${JSON.stringify(end.result)}`);
  return BigInt(atNs);
}

function member(value: JsonValue, name: string): JsonValue | undefined {
  return isJsonObject(value) ? value[name] : undefined;
}
