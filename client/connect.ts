import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { Decision, Verdict } from '../core/decision';
import { TASK_QUEUE } from '../workflows/messages';
import { decide } from './decide';
import { holdpointError } from './errors';
import { grpcInterceptors } from './grpc-interceptors';
import { dataConverterFor } from './payload-codec';
import { startTurn, type TurnStart } from './start-turn';
import { typed } from './temporal-error';
import { inSpan } from '../tracing/span';
import { traceInterceptor } from './trace-interceptor';
import { Turn } from './turn';

/** Everything has a default: the Temporal profile of the environment (`TEMPORAL_ADDRESS`, `TEMPORAL_PROFILE`, …). */
export interface ConnectOptions {
  readonly address?: string;
  readonly namespace?: string;
  readonly profile?: string;
  readonly taskQueue?: string;
  /** A Temporal client of one's own; the other options but `taskQueue` are then not used. */
  readonly client?: Client;
}

/** Whatever Temporal's own client throws comes out of these methods, and of a turn's, as a HoldpointError. */
export interface Holdpoint {
  readonly client: Client;
  /** Starts a turn or attaches to the same one; throws a HoldpointError before anybody is asked where it is invalid. */
  startTurn(start: TurnStart): Promise<Turn>;
  /** A turn known by id, after a crash of the runtime. */
  attach(turn: { readonly id: string; readonly subject: string }): Turn;
  /**
   * Sends a reviewer's decision to the turn of its request, and answers its verdict within `limitMs` (5,000 by default):
   * `notRecorded` where there is none by then. The same decision sent again counts once.
   */
  decide(workflowId: string, decision: Decision, options?: { readonly limitMs?: number }): Promise<Verdict>;
  close(): Promise<void>;
}

/** Connects to Temporal. Throws TEMPORAL_UNREACHABLE where no server answers in 5 s. */
export async function connect(options: ConnectOptions = {}): Promise<Holdpoint> {
  const { taskQueue = TASK_QUEUE } = options;
  const client = options.client ?? (await connectClient(options));
  return {
    client,
    startTurn: async (start) => {
      await inSpan(
        'holdpoint start turn',
        { kind: 'client', attributes: () => ({ 'holdpoint.turn_id': start.id }) },
        () => typed(start.id, () => startTurn(client, start, taskQueue)),
      );
      return new Turn(client, { turnId: start.id, subject: start.requester.subject, taskQueue });
    },
    attach: ({ id, subject }) => new Turn(client, { turnId: id, subject, taskQueue }),
    decide: (workflowId, decision, { limitMs } = {}) =>
      inSpan(
        'holdpoint decide',
        { kind: 'client', attributes: () => decisionAttributes(decision), resultAttributes: codeOf },
        () => typed(workflowId, () => decide(client, { workflowId, taskQueue, limitMs }, decision)),
      ),
    close: async () => {
      if (options.client === undefined) await client.connection.close();
    },
  };
}

async function connectClient({ address, namespace, profile }: ConnectOptions): Promise<Client> {
  const config = loadClientConnectConfig(profile === undefined ? {} : { profile });
  const target = {
    ...config.connectionOptions,
    ...(address === undefined ? {} : { address }),
    ...{ connectTimeout: '5s', interceptors: grpcInterceptors() },
  };
  const connection = await Connection.connect(target).catch((cause: unknown) => {
    throw holdpointError(
      'TEMPORAL_UNREACHABLE',
      { detail: `no answer at ${target.address ?? 'localhost:7233'}` },
      cause,
    );
  });
  const dataConverter = dataConverterFor(process.env['HOLDPOINT_PAYLOAD_KEY']);
  return new Client({
    connection,
    namespace: namespace ?? config.namespace ?? 'default',
    dataConverter,
    interceptors: { workflow: [traceInterceptor] },
  });
}

function decisionAttributes({ operationId, answer }: Decision): Record<string, string> {
  return { 'holdpoint.operation_id': operationId, 'holdpoint.answer': answer };
}

function codeOf({ code }: Verdict): Record<string, string> {
  return { 'holdpoint.verdict': code };
}
