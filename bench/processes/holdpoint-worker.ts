import { DefaultLogger, Runtime } from '@temporalio/worker';
import pino from 'pino';
import { startWorkerProcess } from '../../worker/run-worker-process';
import { TASK_QUEUE } from '../../workflows/messages';

/** The worker process as `holdpoint worker` runs it. Arguments: Temporal's address, the ledger's URL, the permit key. */
async function main([address = '', ledgerUrl = '', permitKeyFile = '']: readonly string[]): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  const started = await startWorkerProcess({
    settings: {
      temporal: { address, namespace: 'default', options: { address } },
      taskQueue: TASK_QUEUE,
      ledgerUrl,
      permitKeyFile,
      secretsKey: null,
      payloadKey: undefined,
      webhooks: [],
      health: { port: 0, host: '127.0.0.1' },
      defaultTrust: 'namespace',
    },
    env: process.env,
    log: pino({ level: 'warn' }, pino.destination(2)),
  });
  if (!started.ok) throw new Error(`${started.code}: ${started.detail}`);
  console.log('ready');
  await started.process.ended;
}

void main(process.argv.slice(2));
