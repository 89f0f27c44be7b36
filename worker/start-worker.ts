import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker, type NativeConnectionOptions, type WorkerOptions } from '@temporalio/worker';
import { createActivities } from '../activities';
import type { Dependencies } from '../activities/dependencies';
import { grpcInterceptors } from '../client/grpc-interceptors';
import { dataConverterFor } from '../client/payload-codec';
import type { LedgerError } from '../ledger/ledger-error';
import { startLedgerGuard } from './ledger-guard';
import { startSweeper } from './sweeper';
import { traceActivity } from './trace-activity';

export interface StartWorkerOptions {
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly deps: Dependencies;
  /** Path of the prebuilt workflow code. */
  readonly bundlePath: string;
  readonly payloadKey?: string | undefined;
  /** TLS, API key and headers of the Temporal profile. */
  readonly connectionOptions?: NativeConnectionOptions;
  readonly maxCachedWorkflows?: number;
  /** Overrides for tests. */
  readonly worker?: Partial<WorkerOptions>;
}

export interface RunningWorker {
  /** Settles when the worker has ended, also when it failed. */
  readonly ended: Promise<void>;
  state(): string;
  /** Takes no new work and waits for the tools that run. */
  stop(): Promise<void>;
}

/** As long as the longest tool time-out and its reads: a deploy must not cut a tool off. */
const SHUTDOWN_GRACE = '65m';

/** A killed worker's turns are unreachable for this long; Temporal's own default is 10 s. */
const STICKY_TIMEOUT = '2s';

/** A worker that polls, with its sweeper. Throws where Temporal cannot be reached, and a LedgerError LEDGER_RESTORED. */
export async function startWorker(options: StartWorkerOptions): Promise<RunningWorker> {
  const { address, connectionOptions = {} } = options;
  const connection = await NativeConnection.connect({ ...connectionOptions, address });
  const clientConnection = await Connection.connect({
    ...connectionOptions,
    address,
    interceptors: grpcInterceptors(),
  });
  const close = async (): Promise<void> => {
    await Promise.all([connection.close(), clientConnection.close()]);
  };
  try {
    return await runWorker(options, { connection, clientConnection, close });
  } catch (error) {
    await close();
    throw error;
  }
}

interface Connections {
  readonly connection: NativeConnection;
  readonly clientConnection: Connection;
  readonly close: () => Promise<void>;
}

async function runWorker(options: StartWorkerOptions, connections: Connections): Promise<RunningWorker> {
  const { namespace, taskQueue, deps } = options;
  const dataConverter = dataConverterFor(options.payloadKey);
  const client = new Client({ connection: connections.clientConnection, namespace, dataConverter });
  const { store } = deps.ledger;
  const failure: { error: LedgerError | null } = { error: null };
  const onRestored = (error: LedgerError): void => {
    failure.error = error;
    stop();
  };
  const guard = await startLedgerGuard({ client, store, taskQueue, log: deps.log, onRestored });
  const worker = await Worker.create({
    connection: connections.connection,
    namespace,
    taskQueue,
    workflowBundle: { codePath: options.bundlePath },
    activities: createActivities(deps),
    interceptors: { activity: [traceActivity] },
    dataConverter,
    maxCachedWorkflows: options.maxCachedWorkflows ?? 500,
    stickyQueueScheduleToStartTimeout: STICKY_TIMEOUT,
    shutdownGraceTime: SHUTDOWN_GRACE,
    ...options.worker,
  });
  const stop = (): void => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const sweeper = startSweeper({ client, deps, log: deps.log });
  const run = async (): Promise<void> => {
    await worker.run().finally(async () => {
      await sweeper.stop();
      await guard.stop();
      await connections.close();
    });
    if (failure.error !== null) throw failure.error;
  };
  const ended = run();
  // Handed out as `ended`; without a listener a failing worker would end the process before its owner hears of it.
  ended.catch(() => undefined);
  return {
    ended,
    state: () => worker.getState(),
    stop: async () => {
      stop();
      await ended;
    },
  };
}
