import { randomUUID } from 'node:crypto';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createActivities } from '../../activities';
import { turnWorkflowId, type ProposedCall, type TurnInput } from '../../core/turn';
import type { TurnStart } from '../../client';
import { agentTurn } from '../../workflows';
import { U1, type Harness } from './harness';

/** What a gateway is to a turn: a task queue, and whether somebody is there. */
export interface Collector {
  readonly taskQueue: string;
  there: boolean;
  /** How often it was asked to run a call. */
  asked: number;
  /** Nobody is there for the first so many times. */
  absentTimes: number;
  beforeFirstAnswer: Promise<void>;
  stop(): Promise<void>;
}

export async function startCollector(harness: Harness): Promise<Collector> {
  const connection = await NativeConnection.connect({ address: process.env['HOLDPOINT_TEST_TEMPORAL'] ?? '' });
  const taskQueue = `collector-${randomUUID()}`;
  const { runTool, openRequests } = createActivities(harness.deps);
  const worker = await Worker.create({
    connection,
    taskQueue,
    shutdownGraceTime: '100ms',
    activities: {
      openRequests,
      runTool: async (input: Parameters<typeof runTool>[0]) => {
        collector.asked += 1;
        if (collector.asked === 1) await collector.beforeFirstAnswer;
        const nobody = { state: { status: 'allowed', revision: 0 }, unrecorded: null, nobodyThere: true } as const;
        return collector.there && collector.asked > collector.absentTimes ? runTool(input) : nobody;
      },
    },
  });
  const run = worker.run();
  const collector: Collector = {
    taskQueue,
    there: true,
    asked: 0,
    absentTimes: 0,
    beforeFirstAnswer: Promise.resolve(),
    stop: async () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await run;
      await connection.close();
    },
  };
  return collector;
}

/** Starts a turn of one call that runs only where somebody collects it. */
export async function startCollected(
  harness: Harness,
  {
    collector,
    call,
    requester = U1,
  }: { collector: string | null; call: TurnStart['calls'][number]; requester?: TurnInput['requester'] },
) {
  const turn: TurnInput = { v: 1, turnId: randomUUID(), requester, calls: [call as ProposedCall], collected: true };
  const handle = await harness.holdpoint.client.workflow.start(agentTurn, {
    workflowId: turnWorkflowId(requester.subject, turn.turnId),
    taskQueue: harness.taskQueue,
    args: collector === null ? [turn] : [turn, { taskQueue: collector }],
  });
  return { handle, turn: harness.holdpoint.attach({ id: turn.turnId, subject: requester.subject }) };
}
