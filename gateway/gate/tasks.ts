import { setTimeout as delay } from 'node:timers/promises';
import { HoldpointError } from '../../client/errors';
import { Turn } from '../../client/turn';
import { isJsonObject, type JsonObject } from '../../core/json';
import { requesterId } from '../../core/requester';
import type { GateAnswer, IncomingCall } from '../ports';
import { collectFor } from './collect';
import type { HoldContext } from './hold-context';
import { answerWhenOver, claimOf, say, type HeldCall, type KeyedClaim } from './held-call';
import { taskJson } from './task-json';
import { traceOf } from './trace-context';
import { METHOD_NOT_FOUND, INVALID_PARAMS } from '../wire/refusal';

/** How long after its last poll a task still counts as somebody who is there to take the result. */
const PRESENT_MS = 60_000;
const DEFAULT_TTL_MS = 3_600_000;
const LONGEST_TTL_MS = 24 * 3_600_000;
const MOST_TASKS = 10_000;
const WITHDRAWN_WITHIN_MS = 5_000;
/** A client that asks for a task's result waits for it as long as it likes. */
const NO_LIMIT_MS = 2_147_483_647;

interface Task {
  readonly held: HeldCall;
  readonly claim: KeyedClaim;
  readonly createdAtMs: number;
  readonly ttlMs: number;
  cancelled: boolean;
  /** Ends its presence. */
  leave: (() => void) | null;
  timer: NodeJS.Timeout | undefined;
}

/** Whether a client asked for a task of a tool that admits one (2025-11-25); elsewhere the wish has no meaning. */
export function isTask({ call, tool }: HeldCall): boolean {
  const { execution } = tool.raw;
  const support = execution !== undefined && isJsonObject(execution) ? execution['taskSupport'] : undefined;
  return call.task !== null && (support === 'optional' || support === 'required');
}

/**
 * Protected calls for which their clients asked a task (MCP 2025-11-25, tasks): the same access check, request and
 * operation as without; a poll is a sign that somebody is there. A task belongs to its requester, and to the gateway
 * that began it: at another one the identical call goes on with the operation.
 */
export class Tasks {
  private readonly context: HoldContext;
  private readonly tasks = new Map<string, Task>();

  constructor(context: HoldContext) {
    this.context = context;
  }

  async begin(held: HeldCall): Promise<GateAnswer> {
    const claim = await claimOf(this.context, held);
    const { operationId } = claim;
    const ttlMs = Math.min(held.call.task?.ttlMs ?? DEFAULT_TTL_MS, LONGEST_TTL_MS);
    const task = this.tasks.get(operationId) ?? this.add({ held, claim, ttlMs, createdAtMs: Date.now() });
    this.attend(task, claim);
    return result({ task: taskJson(claim.state, this.timesOf(task)) });
  }

  /** Answers a request about a task of this gateway; any other is the upstream's. */
  async answer({ message, session, signal }: IncomingCall): Promise<GateAnswer> {
    const id = message.params['taskId'];
    if (typeof id !== 'string' || !OPERATION_ID.test(id)) return { kind: 'pass' };
    const task = this.tasks.get(id);
    const isTheirs =
      task !== undefined && requesterId(task.held.incoming.session.requester) === requesterId(session.requester);
    if (!isTheirs || task.held.incoming.session.server !== session.server) return NOT_FOUND;
    switch (message.method) {
      case 'tasks/get':
        return this.status(task);
      case 'tasks/result':
        return this.result(task, signal);
      case 'tasks/cancel':
        return this.cancel(task);
      default:
        return {
          kind: 'error',
          error: { code: METHOD_NOT_FOUND, message: `There is no method ${message.method ?? ''}` },
        };
    }
  }

  private add(given: Pick<Task, 'held' | 'claim' | 'createdAtMs' | 'ttlMs'>): Task {
    const task: Task = { ...given, cancelled: false, leave: null, timer: undefined };
    const { operationId } = given.claim;
    this.tasks.set(operationId, task);
    const [oldest] = this.tasks.keys();
    if (this.tasks.size > MOST_TASKS && oldest !== undefined) this.forget(oldest);
    setTimeout(() => this.forget(operationId), given.ttlMs).unref();
    return task;
  }

  private forget(operationId: string): void {
    this.tasks.get(operationId)?.leave?.();
    this.tasks.delete(operationId);
  }

  /** Somebody is there, until the next poll is overdue. */
  private attend(task: Task, claim: KeyedClaim): void {
    clearTimeout(task.timer);
    task.timer = setTimeout(() => task.leave?.(), PRESENT_MS).unref();
    if (task.leave !== null || claim.state?.status === 'ended') return;
    const { holds, deps } = this.context;
    const hold = holds.getOrAdd(claim.operationId);
    const presence = new AbortController();
    const out = hold.join({
      session: task.held.incoming.session,
      signal: presence.signal,
      trace: traceOf(task.held.incoming.message.params),
    });
    task.leave = () => {
      task.leave = null;
      presence.abort();
      out();
      holds.release(hold);
    };
    collectFor(this.context, task.held, { claim, hold, signal: presence.signal }).then(
      () => task.leave?.(),
      (error: unknown) => {
        deps.log.warn({ operationId: claim.operationId, error: String(error) }, 'gateway.taskNotCollected');
        task.leave?.();
      },
    );
  }

  private async read(task: Task): Promise<KeyedClaim> {
    const { claim } = task;
    const now = { ...(await this.context.deps.ledger.readClaimedCall(claim)), callKey: claim.callKey };
    this.attend(task, now);
    return now;
  }

  private async status(task: Task): Promise<GateAnswer> {
    const { state } = await this.read(task);
    return result(taskJson(state, this.timesOf(task)));
  }

  private async result(task: Task, signal: AbortSignal): Promise<GateAnswer> {
    const claim = await this.read(task);
    const held = { ...task.held, incoming: { ...task.held.incoming, signal } };
    const answer =
      claim.state?.status === 'ended'
        ? await say(this.context, held, claim)
        : await answerWhenOver(this.context, held, { claim, waitForMs: NO_LIMIT_MS });
    return answer.kind === 'result' ? { ...answer, result: related(answer.result, claim.operationId) } : answer;
  }

  private async cancel(task: Task): Promise<GateAnswer> {
    const { claim, held } = task;
    const { requester } = held.incoming.session;
    const { client, taskQueue } = this.context;
    const turn = new Turn(client, { turnId: claim.turnId, subject: requester.subject, taskQueue });
    await turn.withdraw({ reason: 'its task was cancelled' }).catch((error: unknown) => {
      // A turn that has ended takes nothing back, and its call's state says how it ended.
      if (!(error instanceof HoldpointError) || error.code !== 'TURN_NOT_FOUND') throw error;
    });
    for (let waitedMs = 0; waitedMs < WITHDRAWN_WITHIN_MS; waitedMs += 50) {
      const { state } = await this.context.deps.ledger.readClaimedCall(claim);
      if (state?.status === 'dispatched') break;
      if (state?.status === 'ended') {
        task.cancelled = state.end.outcome === 'withdrawn';
        if (!task.cancelled) break;
        return result(taskJson(state, this.timesOf(task)));
      }
      await delay(50);
    }
    return {
      kind: 'error',
      error: { code: INVALID_PARAMS, message: 'This task has ended, or was sent: it cannot be cancelled' },
    };
  }

  private timesOf({ claim, createdAtMs, ttlMs, cancelled }: Task) {
    return { taskId: claim.operationId, createdAtMs, ttlMs, cancelled };
  }
}

const OPERATION_ID = /^op_[0-9a-f]{40}$/;

/** The same for a task that never was and for one of somebody else. */
const NOT_FOUND: GateAnswer = {
  kind: 'error',
  error: {
    code: INVALID_PARAMS,
    message: 'There is no such task here; repeat the identical call to go on with its operation',
  },
};

function related(answer: JsonObject, taskId: string): JsonObject {
  const own = answer['_meta'];
  const meta = own !== undefined && isJsonObject(own) ? own : {};
  return { ...answer, _meta: { ...meta, 'io.modelcontextprotocol/related-task': { taskId } } };
}

function result(given: JsonObject): GateAnswer {
  return { kind: 'result', result: given, delivered: () => undefined };
}
