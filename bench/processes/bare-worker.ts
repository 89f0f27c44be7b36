import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { BARE_QUEUE, type BareActivities } from '../bare';
import { nowNs } from '../clock';

/** A worker for `bareTurn` with the settings of Holdpoint's own. Arguments: Temporal's address, the workflow code. */
async function main([address = '', codePath = '']: readonly string[]): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  const activities: BareActivities = { act: () => Promise.resolve(nowNs().toString()) };
  const worker = await Worker.create({
    connection: await NativeConnection.connect({ address }),
    taskQueue: BARE_QUEUE,
    workflowBundle: { codePath },
    activities: { ...activities },
    maxCachedWorkflows: 500,
    stickyQueueScheduleToStartTimeout: '2s',
  });
  const ended = worker.run();
  console.log('ready');
  await ended;
}

void main(process.argv.slice(2));
