import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { lookUpOutcome } from '../activities/look-up-outcome';
import type { Dependencies } from '../activities/dependencies';
import type { Log } from '../ledger/log';
import { pruneGatewayCalls } from '../ledger/gateway-upkeep';
import { pruneOutbox } from '../ledger/outbox-upkeep';
import { AGENT_TURN, nudgeSignal } from '../workflows/messages';

export interface SweeperOptions {
  readonly client: Client;
  readonly deps: Dependencies;
  readonly log: Log;
  readonly everyMs?: number;
}

/** How long a turn gets to act on its own row before the sweeper steps in. */
const PATIENCE_MS = 2_000;
const LOOK_BACK_MS = 10 * 60_000;
const MOST_ROWS = 200;
const PRUNE_EVERY_MS = 60_000;

/**
 * Brings rows and turns together again after something was cut off: nudges turns that wait although their row is
 * decided or due, closes rows whose turn was ended from outside, and looks up what was sent by a turn that is gone. And
 * takes old events out of the outbox. Several may run at once: every step is a ledger command or a signal that may come
 * twice.
 */
export function startSweeper({ client, deps, log, everyMs = 2_000 }: SweeperOptions): { stop(): Promise<void> } {
  const nudged = new Map<string, number>();
  let closedAfterMs = Date.now() - LOOK_BACK_MS;
  let pruneAtMs = 0;
  let stopping = false;
  let wake = (): void => undefined;
  const sweep = async (): Promise<void> => {
    await nudgeTurns({ client, deps, nudged });
    closedAfterMs = await closeRowsOfEndedTurns({ client, deps, closedAfterMs });
    await lookUpOrphans({ client, deps });
    if (performance.now() < pruneAtMs) return;
    pruneAtMs = performance.now() + PRUNE_EVERY_MS;
    await pruneOutbox(deps.ledger.store);
    await pruneGatewayCalls(deps.ledger.store);
  };
  const loop = async (): Promise<void> => {
    while (!stopping) {
      await sweep().catch((error: unknown) => {
        log.warn({ error: String(error) }, 'sweep.failed');
      });
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, everyMs * (0.75 + Math.random() / 2));
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };
  const running = loop();
  return {
    stop: async () => {
      stopping = true;
      wake();
      await running;
    },
  };
}

type Sweep = Pick<SweeperOptions, 'client' | 'deps'>;

async function nudgeTurns({ client, deps, nudged }: Sweep & { nudged: Map<string, number> }): Promise<void> {
  const { store } = deps.ledger;
  const nowMs = await store.nowMs();
  const decided = await store.db
    .selectFrom('requests')
    .select(['operation_id', 'revision', 'workflow_id'])
    .where('closed_at', '<', nowMs - PATIENCE_MS)
    // An allow is never too old to be run; whatever else closed a request is also told by the turn's own timers.
    .where((eb) =>
      eb.or([
        eb('state', '=', 'allowed'),
        eb.and([
          eb('state', 'in', ['denied', 'expired', 'refused', 'withdrawn']),
          eb('closed_at', '>', nowMs - LOOK_BACK_MS),
        ]),
      ]),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('operations')
            .select('operation_id')
            .whereRef('operations.operation_id', '=', 'requests.operation_id'),
        ),
      ),
    )
    .orderBy('closed_at', 'desc')
    .limit(MOST_ROWS)
    .execute();
  const due = await store.db
    .selectFrom('requests')
    .select(['operation_id', 'revision', 'workflow_id'])
    .where('state', '=', 'pending')
    .where('due_at', '<', nowMs - PATIENCE_MS)
    .limit(MOST_ROWS)
    .execute();
  for (const row of [...decided, ...due]) {
    const key = `${row.operation_id}.${row.revision}`;
    if ((nudged.get(key) ?? 0) > nowMs - 60_000) continue;
    nudged.set(key, nowMs);
    await nudge(client, row.workflow_id).catch(async (error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
      await deps.ledger.withdraw(row.operation_id, 'its turn is gone');
    });
  }
  for (const [key, atMs] of nudged) if (atMs < nowMs - LOOK_BACK_MS) nudged.delete(key);
}

async function nudge(client: Client, workflowId: string): Promise<void> {
  await client.withDeadline(Date.now() + 5_000, () => client.workflow.getHandle(workflowId).signal(nudgeSignal));
}

/** Visibility only finds; whether a turn has ended is asked of the turn itself. */
async function closeRowsOfEndedTurns({
  client,
  deps,
  closedAfterMs,
}: Sweep & { closedAfterMs: number }): Promise<number> {
  const fromMs = Date.now() - LOOK_BACK_MS;
  const query = `WorkflowType = '${AGENT_TURN}' AND ExecutionStatus IN ('Terminated', 'Failed', 'TimedOut', 'Canceled') AND CloseTime > '${new Date(Math.min(closedAfterMs, fromMs)).toISOString()}'`;
  for await (const { workflowId } of client.workflow.list({ query, pageSize: 100 })) {
    const open = await deps.ledger.store.db
      .selectFrom('requests')
      .select('operation_id')
      .where('workflow_id', '=', workflowId)
      .where('state', 'in', ['pending', 'allowed'])
      .execute();
    if (open.length === 0 || (await isRunning(client, workflowId))) continue;
    for (const row of open) await deps.ledger.withdraw(row.operation_id, 'its turn was ended from outside');
  }
  return Date.now();
}

async function lookUpOrphans({ client, deps }: Sweep): Promise<void> {
  const { store } = deps.ledger;
  const nowMs = await store.nowMs();
  const orphans = await store.db
    .selectFrom('operations')
    .select(['operation_id', 'workflow_id'])
    .where('state', '=', 'dispatched')
    .where('lease_until', '<', nowMs - PATIENCE_MS)
    .orderBy('lease_until')
    .limit(MOST_ROWS)
    .execute();
  for (const row of orphans) {
    if (!(await isRunning(client, row.workflow_id))) await lookUpOrphan(deps, row.operation_id);
  }
}

/** A turn would send again what is proven absent; without one that proof is the outcome. */
async function lookUpOrphan(deps: Dependencies, operationId: string): Promise<void> {
  const { state, attempt } = await lookUpOutcome(deps, operationId);
  if (state.status !== 'allowed') return;
  const detail =
    'the tool has no record of this operation: nothing was done. Its turn has ended, so it is not sent again';
  await deps.ledger.recordOutcome(operationId, { outcome: 'failed', detail, evidence: 'lookUp', attempt: attempt - 1 });
}

async function isRunning(client: Client, workflowId: string): Promise<boolean> {
  try {
    return (await client.workflow.getHandle(workflowId).describe()).status.name === 'RUNNING';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
