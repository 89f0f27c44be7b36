import { randomUUID } from 'node:crypto';
import { mail, migrate, read, remove, someone } from './calls';
import { startCollected, startCollector } from './collector';
import { collectUpdate } from '../../workflows/messages';
import { eventually } from './eventually';
import { decisionOn, type Harness } from './harness';
import { nudge, sendSignal, sendUpdate } from './messages';

type Shape = (harness: Harness) => Promise<string>;

/** Turns of every shape: each runs one to its end and answers its workflow id. */
export const TURN_SHAPES: Readonly<Record<string, Shape>> = {
  ungated: async (harness) => {
    const turn = await harness.start([read('c1'), read('c2')], { requester: someone() });
    await turn.results();
    return turn.workflowId;
  },
  'allowed-by-update': async (harness) => {
    const { turn, request } = await begin(harness, migrate());
    await harness.decide(request, 'allow');
    await turn.results();
    return turn.workflowId;
  },
  'allowed-denied-withdrawn': async (harness) => {
    const calls = [remove('c1', { id: 1 }), remove('c2', { id: 2 }), remove('c3', { id: 3 }), read('c4')];
    const turn = await harness.start(calls, { requester: someone() });
    const [c1, c2] = await harness.requests(turn, 3);
    await sendSignal(harness, turn, decisionOn(c1!, 'allow'));
    await harness.decide(c2!, 'deny', { reason: 'not today' });
    await turn.withdraw({ callId: 'c3' });
    await turn.results();
    return turn.workflowId;
  },
  'escalated-and-expired': async (harness) => {
    await harness.applyPolicy({ escalateAfter: '1s', deadline: '{ after: 2s, then: expire }' });
    const { turn } = await begin(harness, remove());
    await turn.results();
    return turn.workflowId;
  },
  'second-revision': async (harness) => {
    const { turn, request } = await begin(harness, migrate());
    harness.tools.setVersion(8);
    await harness.decide(request, 'allow');
    const second = await eventually(async () => {
      const [open] = await harness.requests(turn);
      if (open?.revision !== 2) throw new Error('revision 2 is not open');
      return open;
    });
    await harness.decide(second, 'allow');
    await turn.results();
    return turn.workflowId;
  },
  'looked-up': async (harness) => {
    await harness.applyPolicy({ timeout: '1s', settleAfter: '1s' });
    harness.tools.behave('apply_migration', { kind: 'drop' }, 1);
    const { turn, request } = await begin(harness, migrate());
    await harness.decide(request, 'allow');
    await turn.results();
    return turn.workflowId;
  },
  'collected-at-the-second-try': async (harness) => {
    const collector = await startCollector(harness);
    collector.absentTimes = 1;
    const { turn, handle } = await startCollected(harness, {
      collector: collector.taskQueue,
      call: migrate(),
      requester: someone(),
    });
    const [request] = await harness.requests(turn);
    await harness.decide(request!, 'allow');
    await eventually(() => {
      if (collector.asked === 0) throw new Error('it was not asked yet');
    });
    await handle.executeUpdate(collectUpdate, { args: [{ taskQueue: collector.taskQueue }] });
    await turn.results();
    await collector.stop();
    return turn.workflowId;
  },
  'never-collected': async (harness) => {
    const { turn } = await startCollected(harness, { collector: null, call: migrate(), requester: someone() });
    const [request] = await harness.requests(turn);
    await harness.decide(request!, 'allow');
    await turn.withdraw();
    await turn.results();
    return turn.workflowId;
  },
  unknown: async (harness) => {
    harness.tools.behave('send_mail', { kind: 'commitThenDrop' }, 1);
    const { turn, request } = await begin(harness, mail());
    await harness.decide(request, 'allow');
    await turn.results();
    return turn.workflowId;
  },
  'cancelled-while-one-ran': async (harness) => {
    harness.tools.behave('delete_rows', { kind: 'hold' }, 1);
    const turn = await harness.start([migrate('c1'), remove('c2')], { requester: someone() });
    const [, c2] = await harness.requests(turn, 2);
    await harness.decide(c2!, 'allow');
    await eventually(() => {
      if (harness.tools.receivedBy('delete_rows').at(-1)?.operationId !== c2!.operationId) throw new Error('not sent');
    });
    await harness.holdpoint.client.workflow.getHandle(turn.workflowId).cancel();
    harness.tools.release('delete_rows');
    await turn.results();
    return turn.workflowId;
  },
  'messages-of-every-wrong-kind': async (harness) => {
    const { turn, request } = await begin(harness, remove());
    await sendSignal(harness, turn, decisionOn(request, 'allow'), 'aprove');
    await sendSignal(harness, turn, { undecodable: true });
    await sendSignal(harness, turn, { call: 'c1' }, 'withdraw');
    await sendUpdate(harness, turn, { reason: 'x'.repeat(70_000) });
    await harness.decide(request, 'allow', { reviewer: 'nobody' });
    await harness.decide(request, 'deny');
    await turn.results();
    return turn.workflowId;
  },
  'decided-in-the-ledger': async (harness) => {
    const { turn, request } = await begin(harness, remove());
    await harness.ledger.recordDecision(decisionOn(request, 'allow'), request.workflowId);
    await nudge(harness, turn);
    await turn.results();
    return turn.workflowId;
  },
  'refused-whole': async (harness) => {
    const workflowId = randomUUID();
    const args = [{ v: 1, turnId: 't', requester: someone(), calls: [{ ...remove(), status: 'allowed' }] }];
    await harness.holdpoint.client.workflow.execute('agentTurn', { workflowId, taskQueue: harness.taskQueue, args });
    return workflowId;
  },
  'late-decision': async (harness) => {
    const { turn, request } = await begin(harness, remove());
    await harness.decide(request, 'deny');
    await turn.results();
    const workflowId = randomUUID();
    const args = [{ message: decisionOn(request, 'allow'), workflowId: turn.workflowId }];
    await harness.holdpoint.client.workflow.execute('lateDecision', { workflowId, taskQueue: harness.taskQueue, args });
    return workflowId;
  },
};

async function begin(harness: Harness, call: ReturnType<typeof read>) {
  const turn = await harness.start([call], { requester: someone() });
  const [request] = await harness.requests(turn);
  if (request === undefined) throw new Error('no request is open');
  return { turn, request };
}
