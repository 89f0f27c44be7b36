import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { refusal, type Refusal } from '../core/errors';
import { startChild, type Child } from './child-process';
import { freePort } from './free-port';

/** What a turn can be found by. A SQL store has room for ten keywords and three keyword lists. */
export const SEARCH_ATTRIBUTES = {
  HoldpointState: 'Keyword',
  HoldpointServer: 'KeywordList',
  HoldpointTool: 'KeywordList',
  HoldpointRequester: 'Keyword',
  HoldpointApprovers: 'KeywordList',
} as const;

/**
 * The first avoids up to 50 ms of waiting on each task; the second refuses an update over 1 MB, which would be admitted
 * otherwise and then block its turn for ever.
 */
export const SERVER_SETTINGS = {
  'history.transferProcessorMaxPollRPS': 2_000,
  'history.maxInFlightUpdatePayloads': 1_000_000,
} as const;

const READY_TIMEOUT_MS = 30_000;
const START_ATTEMPTS = 3;

export interface TemporalServerOptions {
  readonly binary: string;
  readonly namespace: string;
  /** Port of the gRPC front end; another one is taken if it is not free, or not given. */
  readonly port?: number;
  /** Starts the web UI on this port, or on another one if it is not free. */
  readonly uiPort?: number;
  /** Keeps everything in this file; in memory if not given. */
  readonly dbFilename?: string;
  readonly log: (line: string) => void;
}

export interface TemporalServer {
  readonly address: string;
  readonly uiUrl?: string;
  readonly pid: number;
  /** Settles when the server has ended, also when it ended by itself. */
  readonly exited: Promise<void>;
  stop(): Promise<void>;
  /** SIGKILL, as a crash would end it. */
  kill9(): Promise<void>;
}

export type TemporalServerResult =
  { readonly ok: true; readonly server: TemporalServer } | (Refusal & { readonly ok: false });

/**
 * Runs `temporal server start-dev` until it answers health checks and knows the namespace. The server ends with this
 * process, however this process ends.
 */
export async function startTemporalServer(options: TemporalServerOptions): Promise<TemporalServerResult> {
  for (let attempt = 1; ; attempt += 1) {
    const { ended, ...result } = await startOnce(options);
    // It takes more ports than it is given, and one that was free a moment ago may be taken by now.
    if (!ended || attempt === START_ATTEMPTS) return result;
  }
}

/** `ended`: the server ended before it answered. */
async function startOnce(options: TemporalServerOptions): Promise<TemporalServerResult & { readonly ended: boolean }> {
  const port = await freePort(options.port);
  const uiPort = options.uiPort === undefined ? undefined : await freePort(options.uiPort);
  const args = serverArguments(options, { port, uiPort });
  const startMs = performance.now();
  const started = await startChild({ command: options.binary, args, onLine: options.log });
  if (!started.ok) return { ...failed(started.detail), ended: false };
  const { child } = started;
  const address = `127.0.0.1:${port}`;
  if (!(await becomesReady({ child, address, namespace: options.namespace }))) {
    const ended = performance.now() - startMs < READY_TIMEOUT_MS;
    await child.stop();
    return { ...failed(`it gave no answer at ${address}.\n${child.recentOutput()}`.trimEnd()), ended };
  }
  return {
    ok: true,
    ended: false,
    server: {
      address,
      ...(uiPort !== undefined && { uiUrl: `http://127.0.0.1:${uiPort}` }),
      pid: child.pid,
      exited: child.exited.then(() => undefined),
      stop: () => child.stop().then(() => undefined),
      kill9: () => child.kill9().then(() => undefined),
    },
  };
}

function failed(detail: string): TemporalServerResult {
  return { ok: false, ...refusal('TEMPORAL_SERVER_FAILED', { detail }) };
}

interface Ports {
  readonly port: number;
  readonly uiPort: number | undefined;
}

function serverArguments(options: TemporalServerOptions, { port, uiPort }: Ports): readonly string[] {
  const { namespace, dbFilename } = options;
  const onFile = ['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL'];
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--namespace', namespace],
    ...['--log-level', 'error'],
    ...(uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort)]),
    ...(dbFilename === undefined ? [] : ['--db-filename', dbFilename, ...onFile]),
    ...Object.entries(SERVER_SETTINGS).flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${value}`]),
    ...Object.entries(SEARCH_ATTRIBUTES).flatMap(([name, type]) => ['--search-attribute', `${name}=${type}`]),
  ];
}

interface Starting {
  readonly child: Child;
  readonly address: string;
  readonly namespace: string;
}

async function becomesReady({ child, address, namespace }: Starting): Promise<boolean> {
  const endMs = Date.now() + READY_TIMEOUT_MS;
  // Its own announcement first: a health check alone might be answered by another server that took the port.
  const announced = await child.waitForLine(/Server: /, READY_TIMEOUT_MS);
  while (announced !== undefined && Date.now() < endMs) {
    if (await answers(address, namespace)) return true;
    await delay(50);
  }
  return false;
}

async function answers(address: string, namespace: string): Promise<boolean> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: 1_000 });
    const deadline = Date.now() + 1_000;
    await connection.withDeadline(deadline, async () => {
      await connection?.healthService.check({ service: 'temporal.api.workflowservice.v1.WorkflowService' });
      await connection?.workflowService.describeNamespace({ namespace });
    });
    return true;
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
}
