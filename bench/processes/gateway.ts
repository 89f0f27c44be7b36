import { DefaultLogger, Runtime } from '@temporalio/worker';
import pino from 'pino';
import { startGateway } from '../../gateway/start-gateway';
import { TASK_QUEUE } from '../../workflows/messages';

/** A gateway as `holdpoint gateway` runs it. Arguments: Temporal's address, the ledger's URL, the permit key, the tokens. */
async function main([
  address = '',
  ledgerUrl = '',
  permitKeyFile = '',
  tokensFile = '',
]: readonly string[]): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  const started = await startGateway({
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
    edge: {
      host: '127.0.0.1',
      port: 0,
      publicUrl: null,
      hosts: [],
      origins: [],
      tokensFile,
      oauth: null,
      messagesPerMinute: 1_000_000,
      waitForMs: 4_000,
      sessionIdleMs: 1_800_000,
      sessionsPerRequester: 10_000,
    },
    env: process.env,
    log: pino({ level: 'warn' }, pino.destination(2)),
  });
  if (!started.ok) throw new Error(`${started.code}: ${started.detail}`);
  console.log(`ready ${started.gateway.url}`);
  await started.gateway.ended;
}

void main(process.argv.slice(2));
