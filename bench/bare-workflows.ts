import { condition, defineSignal, defineUpdate, proxyActivities, setHandler } from '@temporalio/workflow';
import type { BareActivities, BareInput } from './bare';

const { act } = proxyActivities<BareActivities>({ startToCloseTimeout: '1m' });

/** What Temporal itself costs: a workflow that waits for a decision and then acts, with no ledger, policy or proof. */
export async function bareTurn({ opens, asks }: BareInput): Promise<string> {
  let opened = !opens;
  let decided = !asks;
  setHandler(defineUpdate('opened'), () => condition(() => opened));
  setHandler(defineUpdate('decide'), () => void (decided = true));
  setHandler(defineSignal('decide'), () => void (decided = true));
  if (opens) await act();
  opened = true;
  await condition(() => decided);
  return act();
}
