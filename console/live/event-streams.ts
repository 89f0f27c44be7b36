import { ServerResponse } from 'node:http';
import type { Context } from 'hono';
import type { Log } from '../../ledger/log';
import type { Env, Reviews } from '../ports';
import { createConcerned } from './concerned';
import { EventStream, type StreamTimes } from './event-stream';
import type { ResumableFeed } from './live-feed';

export interface StreamDeps {
  readonly reviews: Pick<Reviews, 'concerns'>;
  readonly live: ResumableFeed;
  readonly log: Log;
  /** Tells of each session that is signed out; its streams end at once. */
  readonly onSignOut?: (listener: (sessionId: string) => void) => () => void;
  /** Left out: a heartbeat each 15 s, cut off after 30 s without reading, and 5 min in all. */
  readonly times?: StreamTimes | undefined;
}

/** Streams of one person at once, through all windows and programs. */
const STREAMS_PER_PERSON = 20;

const TIMES: StreamTimes = { heartbeatMs: 15_000, stallMs: 30_000, lifetimeMs: 300_000 };

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  // Proxies that collect answers would hold the events back.
  'X-Accel-Buffering': 'no',
} as const;

export type Opened =
  { readonly ok: true; readonly response: Response } | { readonly ok: false; readonly code: 'position' | 'limit' };

/** Answers requests by streams of what concerns their viewer, from the `Last-Event-ID` on that they name. */
export function createEventStreams(deps: StreamDeps): (c: Context<Env>) => Opened {
  const { reviews, live, log, times = TIMES } = deps;
  const concerned = createConcerned(reviews);
  const open = new Map<string, number>();
  const streams = new Map<EventStream, string>();
  deps.onSignOut?.((signedOut) => {
    for (const [stream, sessionId] of streams) if (sessionId === signedOut) stream.stop();
  });
  return (c) => {
    const viewer = c.get('viewer');
    const from = positionOf(c.req.header('last-event-id'));
    if (from === undefined) return { ok: false, code: 'position' };
    const before = open.get(viewer.name) ?? 0;
    if (before >= STREAMS_PER_PERSON) return { ok: false, code: 'limit' };
    // Nobody reads the body of an answer to HEAD, nor ends it.
    if (c.req.method === 'HEAD') return { ok: true, response: new Response(null, { headers: HEADERS }) };
    open.set(viewer.name, before + 1);
    const onEnd = () => {
      streams.delete(stream);
      const left = (open.get(viewer.name) ?? 1) - 1;
      if (left === 0) open.delete(viewer.name);
      else open.set(viewer.name, left);
    };
    const stream = new EventStream({ viewer, live, log, times, from, concerned, hangUp: hangUpOf(c), onEnd });
    streams.set(stream, viewer.sessionId);
    const body = new ReadableStream(stream, { highWaterMark: 0 });
    return { ok: true, response: new Response(body, { headers: HEADERS }) };
  };
}

/** Null where none is named; undefined where it is no position. */
function positionOf(header: string | undefined): number | null | undefined {
  if (header === undefined || header === '') return null;
  return /^\d{1,15}$/.test(header) ? Number(header) : undefined;
}

function hangUpOf({ env }: { readonly env: unknown }): () => void {
  const outgoing = typeof env === 'object' && env !== null && 'outgoing' in env ? env.outgoing : null;
  return outgoing instanceof ServerResponse ? () => void outgoing.destroy() : () => undefined;
}
