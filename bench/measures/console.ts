import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { requestsPage } from '../../ledger/pages';
import type { BenchContext, Measure } from '../bench-context';
import { timeOf } from '../clock';
import { startConsoleStack, type ConsoleStack } from '../console-stack';
import { ms, spreadText, type Finding } from '../finding';
import { residentMb } from '../processes';
import { rateOf } from '../rounds';
import { percentile } from '../statistics';

const OPEN_REQUESTS = 1_000;
const STREAMS = 200;

/** What people wait for at the console. */
export const consolePages: Measure = {
  name: 'console',
  title: 'The console',
  async run({ scale, progress }: BenchContext): Promise<readonly Finding[]> {
    progress('starting Temporal, a worker, the tool server and a console');
    const own = await startConsoleStack();
    try {
      progress(`${OPEN_REQUESTS} open requests`);
      await rateOf(OPEN_REQUESTS, 32, () => own.ask());
      await waitForOpen(own);
      const queue = await queuePage(own, scale.consoleLoads);
      progress('new requests in an open queue');
      const visible = await newRequests(own, scale.consoleDecisions);
      progress('decisions');
      const verdict = await decisions(own, scale.consoleDecisions);
      progress(`${STREAMS} streams`);
      return [queue, visible, verdict, await streams(own)];
    } finally {
      await own.close();
    }
  },
};

async function waitForOpen({ store }: ConsoleStack): Promise<void> {
  for (;;) {
    const open = await requestsPage(store.db, {}, { after: null, limit: OPEN_REQUESTS });
    if (open.length === OPEN_REQUESTS) return;
    await delay(200);
  }
}

async function queuePage(own: ConsoleStack, loads: number): Promise<Finding> {
  const times: number[] = [];
  for (let load = 0; load < loads; load += 1) times.push(await timeOf(() => whole(own.page('/'))));
  return barred(`the queue of ${OPEN_REQUESTS} open requests, first page, whole answer, p95`, times, 150);
}

/** From the moment the runtime knows that its call waits, until a window that was open can show it. */
async function newRequests(own: ConsoleStack, count: number): Promise<Finding> {
  const times: number[] = [];
  const stream = await own.page('/live');
  const reader = (stream.body ?? new ReadableStream<Uint8Array>()).getReader();
  const decoder = new TextDecoder();
  for (let nr = 0; nr < count; nr += 1) {
    await own.ask();
    const startMs = performance.now();
    for (let text = ''; !text.includes('request.opened');) {
      const read: { readonly value?: Uint8Array | undefined } = await reader.read();
      text += decoder.decode(read.value);
    }
    await whole(own.page('/'));
    times.push(performance.now() - startMs);
  }
  await reader.cancel();
  return barred('a new request is in an open queue: told, and the list fetched again, p95', times, 1_000);
}

/** From the press of the button to the page that says what it was worth. */
async function decisions(own: ConsoleStack, count: number): Promise<Finding> {
  const times: number[] = [];
  const open = await requestsPage(own.store.db, {}, { after: null, limit: count });
  for (const { item } of open) {
    const { operationId, revision, bindingDigest: digest } = item.request;
    const path = `/requests/${operationId}`;
    const csrf = /name="csrf" value="([^"]+)"/.exec(await whole(own.page(path)))?.[1] ?? '';
    const form = { csrf, answer: 'allow', read: 'yes', decisionId: randomUUID(), revision: String(revision), digest };
    times.push(
      await timeOf(async () => {
        const answer = await own.page(`${path}/decision`, { method: 'POST', body: new URLSearchParams(form) });
        const shown = await whole(own.page(answer.headers.get('location') ?? ''));
        if (!shown.includes('Your allow is on record')) throw new Error(`the decision was answered ${answer.status}`);
      }),
    );
  }
  return barred('a decision, until its verdict is shown, p95', times, 500);
}

async function streams(own: ConsoleStack): Promise<Finding> {
  const before = await residentMb(own.console);
  const leaving = new AbortController();
  await own.watch(STREAMS, leaving.signal);
  await own.ask();
  await delay(3_000);
  const after = await residentMb(own.console);
  leaving.abort();
  return {
    measure: `memory of the console with ${STREAMS} streams (${(after - before).toFixed(0)} MB more than without)`,
    holdpoint: `${after.toFixed(0)} MiB`,
    compared: null,
    ratio: null,
    bar: '≤ 300 MiB',
    met: after <= 300,
  };
}

function barred(measure: string, times: readonly number[], limitMs: number): Finding {
  const p95 = percentile(times, 0.95);
  const holdpoint = `${ms(p95)}; all: ${spreadText(times, ms)}`;
  return { measure, holdpoint, compared: null, ratio: null, bar: `≤ ${limitMs} ms`, met: p95 <= limitMs };
}

async function whole(answer: Promise<Response>): Promise<string> {
  const response = await answer;
  const text = await response.text();
  if (response.status !== 200) throw new Error(`answered with ${response.status}: ${text.slice(0, 200)}`);
  return text;
}
