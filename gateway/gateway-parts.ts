import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { Dependencies } from '../activities/dependencies';
import { loadPermitKey, type PermitKey } from '../activities/permit-key';
import { grpcInterceptors } from '../client/grpc-interceptors';
import { traceInterceptor } from '../client/trace-interceptor';
import { dataConverterFor } from '../client/payload-codec';
import { refusal, type Refusal } from '../core/errors';
import { LedgerError, reasonOf } from '../ledger/ledger-error';
import type { Log } from '../ledger/log';
import { openStore } from '../ledger/open-store';
import type { Store } from '../ledger/transaction';
import { secretsKeyFrom, sessionKeyFrom } from '../worker/derived-key';
import { startLedgerGuard } from '../worker/ledger-guard';
import { openDependencies } from '../worker/open-dependencies';
import { traceActivity } from '../worker/trace-activity';
import type { WorkerSettings } from '../worker/worker-settings';
import type { EdgeSettings } from './edge/settings';
import { Endpoints } from './endpoints';
import { createGate } from './gate/gate';
import { createGatewayActivities } from './gate/gateway-activities';
import { waitForMsOf } from './wait-for';

export interface GatewayOptions {
  readonly settings: WorkerSettings;
  readonly edge: EdgeSettings;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  /** The page of a request in the console; none by default. */
  readonly reviewUrl?: (operationId: string) => string | null;
  /** Told of each step of running a tool, so that a test may stop or kill the process there. */
  readonly onStep?: NonNullable<Dependencies['onStep']>;
}

/** Everything behind the edge: what needs a ledger and Temporal. */
export interface GatewayParts {
  readonly endpoints: Endpoints;
  /** Settles when the gateway can run no call any more; rejects where it failed. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

export type OpenedParts = { readonly ok: true; readonly parts: GatewayParts } | ({ readonly ok: false } & Refusal);

const SHUTDOWN_GRACE = '65m';

/** Opens ledger, Temporal and the gateway's activity worker; nothing is left open where one of them cannot be had. */
export async function openGatewayParts(options: GatewayOptions): Promise<OpenedParts> {
  const key = await loadPermitKey(options.settings.permitKeyFile);
  if (!key.ok) return key;
  const opened: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const each of opened.splice(0).reverse()) await each();
  };
  try {
    const result = await open(options, { permitKey: key.key, opened });
    if (!result.ok) await close();
    return result.ok ? { ok: true, parts: { ...result.parts, stop: close } } : result;
  } catch (error) {
    await close();
    if (error instanceof LedgerError) return { ok: false, code: error.code, detail: error.message };
    throw error;
  }
}

interface Opening {
  readonly permitKey: PermitKey;
  readonly opened: (() => Promise<unknown>)[];
}

async function open(options: GatewayOptions, { permitKey, opened }: Opening): Promise<OpenedParts> {
  const { settings, edge, env, log, onStep } = options;
  const store = await openStore(settings.ledgerUrl, log);
  opened.push(() => store.close());
  const secretsKey = settings.secretsKey ?? secretsKeyFrom(permitKey);
  const steps = onStep === undefined ? {} : { onStep };
  const deps = openDependencies({ ...settings, ...steps, store, permitKey, secretsKey, log, env });
  opened.push(() => deps.servers.closeAll());
  if ((await deps.ledger.activePolicy()) === null) return { ok: false, ...refusal('NO_POLICY') };
  const temporal = await connectTemporal(settings).catch(reasonOf);
  const { address, namespace } = settings.temporal;
  if (typeof temporal === 'string')
    return {
      ok: false,
      ...refusal('TEMPORAL_UNREACHABLE', { detail: `${address}, namespace ${namespace}: ${temporal}` }),
    };
  opened.push(() => temporal.close());
  const { client } = temporal;
  const { taskQueue } = settings;
  const { gate, context } = createGate({
    deps,
    client,
    taskQueue,
    waitForMs: waitForMsOf(edge.waitForMs),
    reviewUrl: options.reviewUrl ?? (() => null),
  });
  const activities = createGatewayActivities({ deps, holds: context.holds, tools: context.tools });
  const running = await runActivities(options, { temporal, store, taskQueue: context.ownQueue, activities });
  opened.push(running.stop);
  const endpoints = new Endpoints({ deps, gate, edge, sessionKey: sessionKeyFrom(permitKey) });
  opened.push(() => endpoints.closeAll());
  return { ok: true, parts: { endpoints, ended: running.ended, stop: () => Promise.resolve() } };
}

interface RunningActivities {
  readonly temporal: Temporal;
  readonly store: Store;
  /** The gateway's own. */
  readonly taskQueue: string;
  readonly activities: ReturnType<typeof createGatewayActivities>;
}

/** Runs the calls that are held here; ends where the ledger turns out to be older than Temporal knows it. */
async function runActivities(
  { settings, log }: GatewayOptions,
  { temporal, store, taskQueue, activities }: RunningActivities,
): Promise<{ readonly ended: Promise<void>; readonly stop: () => Promise<void> }> {
  const worker = await Worker.create({
    connection: temporal.native,
    namespace: settings.temporal.namespace,
    taskQueue,
    activities,
    interceptors: { activity: [traceActivity] },
    dataConverter: dataConverterFor(settings.payloadKey),
    shutdownGraceTime: SHUTDOWN_GRACE,
  });
  const shutDown = (): void => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const failure: { error: LedgerError | null } = { error: null };
  const onRestored = (error: LedgerError): void => {
    failure.error = error;
    shutDown();
  };
  const guard = await startLedgerGuard({
    client: temporal.client,
    store,
    taskQueue: settings.taskQueue,
    log,
    onRestored,
  });
  const ended = worker.run().then(() => {
    if (failure.error !== null) throw failure.error;
  });
  ended.catch(() => undefined);
  const stop = async (): Promise<void> => {
    shutDown();
    await ended.catch(() => undefined);
    await guard.stop();
  };
  return { ended, stop };
}

interface Temporal {
  readonly client: Client;
  readonly native: NativeConnection;
  close(): Promise<void>;
}

async function connectTemporal({ temporal, payloadKey }: WorkerSettings): Promise<Temporal> {
  const { address, namespace, options } = temporal;
  const native = await NativeConnection.connect({ ...options, address });
  const connection = await Connection.connect({ ...options, address, interceptors: grpcInterceptors() }).catch(
    async (error: unknown) => {
      await native.close();
      throw error;
    },
  );
  const dataConverter = dataConverterFor(payloadKey);
  const interceptors = { workflow: [traceInterceptor] };
  const client = new Client({ connection, namespace, dataConverter, interceptors });
  return {
    client,
    native,
    close: async () => {
      await Promise.all([native.close(), connection.close()]);
    },
  };
}
