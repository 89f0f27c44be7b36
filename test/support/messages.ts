import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Decision, Turn, Verdict } from '../../client';
import type { CallOutcome } from '../../core/outcome';
import type { ApprovalRequest } from '../../core/request';
import { decisionOn, type Harness } from './harness';

type Where = Turn | ApprovalRequest;

/** Any message as a `decide` update, past the client library. */
export function sendUpdate(harness: Harness, { workflowId }: Where, message: unknown): Promise<Verdict> {
  const handle = harness.holdpoint.client.workflow.getHandle(workflowId);
  return handle.executeUpdate<Verdict, [unknown]>('decide', { args: [message] });
}

/** Any message as a signal, past the client library. */
export async function sendSignal(harness: Harness, { workflowId }: Where, message: unknown, name = 'decide') {
  await harness.holdpoint.client.workflow.getHandle(workflowId).signal<[unknown]>(name, message);
}

/** Has the turn read its rows again, which its timers do when they fire. */
export const nudge = async (harness: Harness, { workflowId }: Where): Promise<void> => {
  await harness.holdpoint.client.workflow.getHandle(workflowId).signal('nudge');
};

/** What each call came to, in call order. */
export async function outcomes(turn: Turn): Promise<readonly (readonly [string, CallOutcome['outcome']])[]> {
  return (await turn.results()).map(({ callId, outcome }) => [callId, outcome] as const);
}

/** The status of each call now; of an ended one its outcome. */
export async function statuses(turn: Turn): Promise<readonly string[]> {
  const { calls } = await turn.snapshot();
  return calls.map(({ state }) => (state.status === 'ended' ? state.end.outcome : state.status));
}

/** Takes back what waits for people: what one test leaves open would count against the next one of the same human. */
export async function withdrawOpen({ store, ledger }: Harness): Promise<void> {
  const open = await store.db.selectFrom('requests').select('operation_id').where('state', '=', 'pending').execute();
  await Promise.all(open.map((row) => ledger.withdraw(row.operation_id, 'the test is over')));
}

/** Decides through the real Temporal CLI. */
export async function decideByCli(
  how: 'update' | 'signal',
  request: ApprovalRequest,
  answer: 'allow' | 'deny',
  more: Partial<Decision> = {},
): Promise<string> {
  const command = how === 'update' ? ['update', 'execute'] : ['signal'];
  const { stdout } = await promisify(execFile)(process.env['HOLDPOINT_TEST_TEMPORAL_CLI'] ?? 'temporal', [
    'workflow',
    ...command,
    ...['--address', process.env['HOLDPOINT_TEST_TEMPORAL'] ?? ''],
    ...['--workflow-id', request.workflowId, '--name', 'decide'],
    ...['--input', JSON.stringify(decisionOn(request, answer, more))],
  ]);
  return stdout;
}
