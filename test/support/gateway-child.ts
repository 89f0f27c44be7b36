import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import pino from 'pino';
import type { RunStep } from '../../activities/dependencies';
import type { EdgeSettings } from '../../gateway/edge/settings';
import { startGateway } from '../../gateway/start-gateway';
import type { WorkerSettings } from '../../worker/worker-settings';

/** What a gateway process is told, as JSON in its only argument. */
export interface GatewayTold {
  /** `secretsKey` in hexadecimal. */
  readonly settings: Omit<WorkerSettings, 'secretsKey'> & { readonly secretsKey: string };
  readonly edge: EdgeSettings;
  /** The first time that a tool reaches `step`: SIGKILL as a crash, SIGSTOP as a machine that stands still. */
  readonly at?: { readonly step: RunStep; readonly signal: 'SIGKILL' | 'SIGSTOP' };
}

/**
 * A gateway in a process of its own. It prints `ready` and its address, the step at which it is about to be killed or
 * stopped, and on each SIGHUP how much memory it holds once its heap was collected: `memory 1 heap 20000000 …`. (Temporal
 * takes SIGUSR2 for an order to end its worker.)
 */
async function main({ settings, edge, at }: GatewayTold): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const started = await startGateway({
    settings: { ...settings, secretsKey: Buffer.from(settings.secretsKey, 'hex') },
    edge,
    env: process.env,
    log: pino({ level: process.env['HOLDPOINT_TEST_LOG'] ?? 'silent' }),
    onStep: stopAt(at),
  });
  if (!started.ok) throw new Error(started.detail);
  const { gateway } = started;
  process.once('SIGTERM', () => void gateway.stop());
  tellMemory();
  console.log(`ready ${gateway.url}`);
  await gateway.ended;
}

function stopAt(at: GatewayTold['at']): (step: RunStep, operationId: string) => Promise<void> {
  let armed = at;
  return async (step, operationId) => {
    if (armed?.step !== step) return;
    const { signal } = armed;
    armed = undefined;
    console.log(`${signal} at ${step} of ${operationId}`);
    process.kill(process.pid, signal);
    // A stopped process goes on here; a killed one never gets so far, however late the signal comes.
    if (signal === 'SIGKILL') await new Promise(() => undefined);
  };
}

function tellMemory(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let times = 0;
  process.on('SIGHUP', () => {
    collect();
    collect();
    const { heapUsed, external, rss } = process.memoryUsage();
    console.log(`memory ${(times += 1)} heap ${heapUsed} external ${external} rss ${rss}`);
  });
}

if (require.main === module) void main(JSON.parse(process.argv[2] ?? '{}') as GatewayTold);
