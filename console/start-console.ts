import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Holdpoint } from '../client';
import type { Decision, Verdict } from '../core/decision';
import { refusal, type Refusal } from '../core/errors';
import { reasonOf } from '../ledger/ledger-error';
import type { Ledger } from '../ledger/ledger';
import type { Log } from '../ledger/log';
import { hostInUrl } from '../web/host-names';
import { createApp } from './app';
import { openLiveFeed } from './live/live-feed';
import { createMetricsReader } from './metrics/read-metrics';
import { createReviews } from './reviews';
import type { ConsoleSettings } from './settings';

export interface ConsoleOptions {
  readonly settings: ConsoleSettings;
  readonly ledger: Ledger;
  /** Connects to Temporal; asked for when the first decision is sent, and again after a failure. */
  readonly connect: () => Promise<Holdpoint>;
  readonly log: Log;
}

export interface RunningConsole {
  /** The origin that people use. */
  readonly url: string;
  readonly ended: Promise<void>;
  /** Takes no new request. Safe to call twice; the ledger stays open. */
  stop(): Promise<void>;
}

export type StartedConsole =
  { readonly ok: true; readonly console: RunningConsole } | ({ readonly ok: false } & Refusal);

/** Starts the console: it serves pages and API, and needs Temporal for decisions only. */
export async function startConsole({ settings, ledger, connect, log }: ConsoleOptions): Promise<StartedConsole> {
  const live = openLiveFeed({ store: ledger.store, log });
  const sender = decisionsThrough(connect);
  const reviews = createReviews({ ledger, decide: sender.decide, signingKey: settings.signingKey });
  const readMetrics = createMetricsReader({ ledger, log });
  const app = createApp({ settings, reviews, live, activeNow: () => ledger.activePolicy(), readMetrics, log });
  const serve = getRequestListener(app.fetch);
  const server = createServer((req, res) => void serve(req, res));
  const problem = await listening(server, settings);
  const ended = new Promise<void>((resolve) => server.once('close', resolve));
  const stop = async (): Promise<void> => {
    await live.close();
    server.close();
    server.closeAllConnections();
    await ended;
    await sender.close();
  };
  if (problem === null) return { ok: true, console: { url: urlOf(settings, server), ended, stop } };
  await live.close();
  return { ok: false, ...refusal('PORT_TAKEN', { port: settings.port, detail: problem }) };
}

function listening(server: Server, { host, port }: ConsoleSettings): Promise<string | null> {
  return new Promise((resolve) => {
    server.listen(port, host, () => resolve(null));
    server.once('error', (error) => resolve(reasonOf(error)));
  });
}

function urlOf({ publicUrl, host, port }: ConsoleSettings, server: Server): string {
  const at = server.address();
  const bound = typeof at === 'object' && at !== null ? at.port : port;
  return publicUrl ?? `http://${hostInUrl(host)}:${bound}`;
}

/** Sends decisions over one connection, made at the first; where Temporal is away, nothing is recorded and it says so. */
function decisionsThrough(connect: ConsoleOptions['connect']) {
  let connecting: Promise<Holdpoint> | null = null;
  const connected = (): Promise<Holdpoint> => {
    connecting ??= connect().catch((error: unknown) => {
      connecting = null;
      throw error;
    });
    return connecting;
  };
  return {
    decide: async (workflowId: string, decision: Decision): Promise<Verdict> => {
      const holdpoint = await connected().catch(reasonOf);
      if (typeof holdpoint === 'string') return notSent(decision, holdpoint);
      return holdpoint.decide(workflowId, decision).catch((error: unknown) => notSent(decision, reasonOf(error)));
    },
    close: async (): Promise<void> => {
      await (await connecting?.catch(() => null))?.close();
    },
  };
}

function notSent({ operationId, revision }: Decision, reason: string): Verdict {
  const detail = `${reason} Send the same decision again; it counts once`;
  return { code: 'notRecorded', detail, operationId, revision, state: null, decidedBy: [], counted: null };
}
