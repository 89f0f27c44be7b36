import { Client, Connection } from '@temporalio/client';
import { connect, type Holdpoint } from '../client';
import { grpcInterceptors } from '../client/grpc-interceptors';
import { dataConverterFor } from '../client/payload-codec';
import { CliFailure } from './failure';
import type { Io } from './io';
import type { Place } from './place';
import { withProgress } from './progress';
import { safe } from './text';

/** Connects to the Temporal of a place for one command. */
export async function withTemporal<T>(io: Io, place: Place, work: (holdpoint: Holdpoint) => Promise<T>): Promise<T> {
  const holdpoint = await withProgress(io, 'connecting to Temporal', connectTo(io, place));
  try {
    return await work(holdpoint);
  } finally {
    await holdpoint.close();
  }
}

/** A connection to the Temporal of a place, for whoever keeps it open. */
export async function connectTo({ env }: Io, place: Place): Promise<Holdpoint> {
  if (place.kind === 'dev') return connectToDev(place);
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, HOLDPOINT_TASK_QUEUE: taskQueue } = env;
  return connect({
    ...(address !== undefined && { address }),
    ...(namespace !== undefined && { namespace }),
    ...(taskQueue !== undefined && { taskQueue }),
  });
}

/** Fails at once where the place is a state folder whose `holdpoint dev` does not run. */
export function assertRunning(place: Place): void {
  if (place.kind === 'dev' && place.dev === null && place.ledgerUrl !== null) throw notRunning(place.stateDir);
}

function notRunning(stateDir: string): CliFailure {
  return new CliFailure(
    'unreachable',
    `"holdpoint dev" is not running in ${safe(stateDir)}, so no Temporal is. Nothing was sent or recorded.`,
    'Start it there in another terminal; or set TEMPORAL_ADDRESS and HOLDPOINT_LEDGER_URL.',
  );
}

/** Without the user's Temporal profile: its TLS or API key is for another server. */
async function connectToDev({ stateDir, dev }: Place & { kind: 'dev' }): Promise<Holdpoint> {
  if (dev === null) throw notRunning(stateDir);
  const { address, namespace } = dev.temporal;
  const connection = await Connection.connect({
    address,
    connectTimeout: '5s',
    interceptors: grpcInterceptors(),
  }).catch(() => {
    throw new CliFailure(
      'unreachable',
      `The Temporal server of "holdpoint dev" (process ${dev.pid}) does not answer at ${address}. Nothing was sent or recorded.`,
      'See temporal.log in the state folder, or stop "holdpoint dev" and start it again.',
    );
  });
  const client = new Client({ connection, namespace, dataConverter: dataConverterFor(undefined) });
  const holdpoint = await connect({ client, taskQueue: dev.taskQueue });
  return { ...holdpoint, close: () => connection.close() };
}
