import { randomUUID } from 'node:crypto';
import { WithStartWorkflowOperation, type Client } from '@temporalio/client';
import { BARE_QUEUE, type BareInput } from './bare';
import type { Subject } from './subject';

type BareTurn = (input: BareInput) => Promise<string>;

export interface BareForm {
  readonly by: 'update' | 'signal';
  /** Whether an activity runs before the turn counts as open, as Holdpoint has to open requests. */
  readonly opens: boolean;
}

/** The bare workflow: no ledger, no policy, no tool server. */
export function bareSubject(client: Client, { by, opens }: BareForm): Subject {
  const { workflow } = client;
  return {
    async open() {
      const workflowId = `bare-${randomUUID()}`;
      const startWorkflowOperation = new WithStartWorkflowOperation<BareTurn>('bareTurn', {
        workflowId,
        taskQueue: BARE_QUEUE,
        args: [{ opens, asks: true }],
        workflowIdConflictPolicy: 'FAIL',
      });
      await workflow.executeUpdateWithStart('opened', { startWorkflowOperation });
      const handle = workflow.getHandle<BareTurn>(workflowId);
      return {
        workflowId,
        decide: () => (by === 'signal' ? handle.signal('decide') : handle.executeUpdate('decide')),
        effectNs: async () => BigInt(await handle.result()),
      };
    },
    async runFree() {
      const workflowId = `bare-${randomUUID()}`;
      const args: [BareInput] = [{ opens: false, asks: false }];
      await workflow.execute<BareTurn>('bareTurn', { workflowId, taskQueue: BARE_QUEUE, args });
      return workflowId;
    },
  };
}
