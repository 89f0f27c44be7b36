import { hostname } from 'node:os';
import { temporal } from '@temporalio/proto';
import { findTemporalBinary } from '../worker/temporal-binary';
import { readMark } from '../worker/ledger-guard';
import { SEARCH_ATTRIBUTES } from '../worker/temporal-server';
import { TASK_QUEUE } from '../workflows/messages';
import type { Holdpoint } from '../client';
import { readHead } from '../ledger/audit-read';
import type { Ledger } from '../ledger/ledger';
import { readEpoch } from '../ledger/meta';
import { listRetrospectives, type RetrospectiveRecord } from '../ledger/retrospective-queries';
import { givenUpEvents, type GivenUp } from '../ledger/outbox-upkeep';
import { ledgerCounts } from '../ledger/queries';
import { sqliteEngine } from '../ledger/sqlite-engine';
import { binaryDir } from './dev/binary-dir';
import { isRunning } from './dev/dev-file';
import type { Io } from './io';
import { withLedger, type Place } from './place';
import { withTemporal } from './temporal';
import { count, safe } from './text';
import { checkTraces } from './traces-check';
import { reasonOf } from '../ledger/ledger-error';

/** One thing that was looked at. `warn` works, but somebody should know; `fail` does not work. */
export interface Check {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly detail: string;
}

const CLOCK_SKEW_MS = 5_000;

/** Looks at everything that Holdpoint needs, each thing by itself: one that is broken hides no other. */
export async function examine(io: Io, place: Place): Promise<readonly Check[]> {
  const environment = [
    checked('node', () =>
      Promise.resolve(ok('node', `${process.versions.node} on ${process.platform}-${process.arch}`)),
    ),
    checked('sqlite engine', async () => {
      const { name, version } = await sqliteEngine();
      return ok('sqlite engine', `${name} ${version}`);
    }),
    checked('temporal CLI', () => temporalCli(io, place)),
    checked('traces', () => checkTraces(io.env)),
  ];
  const ledger = checkedAll('ledger', () => withLedger(place, (opened) => ledgerChecks(opened, place)));
  const temporal = checkedAll('temporal', () =>
    withTemporal(io, place, (holdpoint) => temporalChecks(io, place, holdpoint)),
  );
  const dev = place.kind === 'dev' ? place.dev : null;
  const parts = (['gateway', 'console'] as const).flatMap((name) => partCheck(name, dev?.[name]?.url));
  return [...(await Promise.all(environment)), ...(await ledger), ...(await temporal), ...(await Promise.all(parts))];
}

/** A part of `holdpoint dev` that answers HTTP; none where dev does not run it. */
function partCheck(name: 'gateway' | 'console', url: string | undefined): readonly Promise<Check>[] {
  if (url === undefined) return [];
  const check = checked(name, async () => {
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5_000) }).catch(() => null);
    if (answer === null) return failed(name, `nothing answers at ${url}: see ${name}.log`);
    await answer.body?.cancel();
    return answer.ok ? ok(name, url) : failed(name, `${url} is not ready: see ${name}.log`);
  });
  return [check];
}

function ok(name: string, detail: string): Check {
  return { name, status: 'ok', detail };
}

async function checked(name: string, look: () => Promise<Check>): Promise<Check> {
  const [check = failed(name, 'nothing was found')] = await checkedAll(name, async () => [await look()]);
  return check;
}

async function checkedAll(name: string, look: () => Promise<readonly Check[]>): Promise<readonly Check[]> {
  return look().catch((error: unknown) => [failed(name, reasonOf(error))]);
}

function failed(name: string, detail: string): Check {
  return { name, status: 'fail', detail: safe(detail) };
}

/** Only `holdpoint dev` needs it, and fetches it where it can. */
async function temporalCli({ env }: Io, place: Place): Promise<Check> {
  const stateDir = await binaryDir(place.kind === 'dev' ? place.stateDir : null);
  const found = await findTemporalBinary({ stateDir, env, onProgress: () => undefined, download: false });
  if (found.ok) return ok('temporal CLI', `${found.version} at ${safe(found.path)}`);
  return {
    name: 'temporal CLI',
    status: 'warn',
    detail: 'none installed; "holdpoint dev" downloads it at its first start',
  };
}

async function ledgerChecks(ledger: Ledger, place: Place): Promise<readonly Check[]> {
  const { store } = ledger;
  const nowMs = await store.nowMs();
  const skewMs = Math.abs(nowMs - Date.now());
  const active = await ledger.activePolicy();
  const [epoch, counts, givenUp, open] = await Promise.all([
    readEpoch(store.db),
    ledgerCounts(store.db, nowMs, active?.policy ?? null),
    givenUpEvents(store.db),
    listRetrospectives(store.db),
  ]);
  const unknown = counts.operations['unknown'] ?? 0;
  const signed = active?.trust === 'signatures';
  return [
    ok('ledger', `${store.kind}, epoch ${epoch}, ${count(counts.auditRecords, 'audit record')}`),
    {
      name: 'clock',
      status: skewMs > CLOCK_SKEW_MS ? 'warn' : 'ok',
      detail: `the ledger's clock, which decides, and this machine's differ by ${skewMs} ms`,
    },
    active === null
      ? failed('policy', 'no policy is active, so nothing may run: holdpoint policy apply FILE')
      : ok('policy', `version ${active.version}, ${count(active.policy.rules.length, 'rule')}`),
    {
      name: 'trust',
      status: signed || active === null ? 'ok' : 'warn',
      detail: signed
        ? 'decisions count when they are signed'
        : `${place.kind === 'dev' ? 'trust: namespace (the default of "holdpoint dev")' : 'trust: namespace'}: UNSIGNED decisions count, for whoever reaches Temporal`,
    },
    ok(
      'requests',
      `${count(counts.requests['pending'] ?? 0, 'request')} open, ${count(counts.liveGrants, 'live grant')}`,
    ),
    {
      name: 'outcomes',
      status: unknown === 0 ? 'ok' : 'warn',
      detail: unknown === 0 ? 'none is unknown' : `${count(unknown, 'outcome')} unknown: holdpoint unknown`,
    },
    reviewCheck(open, nowMs),
    givenUp.length === 0
      ? ok('events', 'none was given up')
      : { name: 'events', status: 'warn', detail: `${givenUp.map(givenUpText).join('; ')}. ${GIVEN_UP_ADVICE}` },
  ];
}

function reviewCheck(open: readonly RetrospectiveRecord[], nowMs: number): Check {
  const overdue = open.filter(({ dueAtMs }) => dueAtMs <= nowMs);
  const name = 'emergencies';
  if (overdue.length === 0)
    return ok(name, open.length === 0 ? 'none is to be reviewed' : `${count(open.length, 'review')} open`);
  const detail = `${count(overdue.length, 'review')} overdue, so the next emergency is refused: holdpoint retrospective list`;
  return { name, status: 'warn', detail };
}

const GIVEN_UP_ADVICE =
  'They are not sent again: mend the receiver, and tell it what it missed from "holdpoint requests --status", "holdpoint unknown" and "holdpoint audit export"';

function givenUpText({ endpoint, count: events, lastError }: GivenUp): string {
  const what = endpoint.startsWith('notify:') ? 'channel' : 'webhook';
  return `${what} ${safe(endpoint.replace(/^notify:/, ''))} was not given ${count(events, 'event')} (${safe(lastError)})`;
}

const { IndexedValueType, TaskQueueType } = temporal.api.enums.v1;
const ATTRIBUTE_TYPES = {
  Keyword: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
  KeywordList: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
} as const;

async function temporalChecks(io: Io, place: Place, { client }: Holdpoint): Promise<readonly Check[]> {
  const { connection } = client;
  const { namespace } = client.options;
  const taskQueue = (place.kind === 'dev' ? place.dev?.taskQueue : io.env['HOLDPOINT_TASK_QUEUE']) ?? TASK_QUEUE;
  const within = <T>(call: () => Promise<T>): Promise<T> => client.withDeadline(Date.now() + 5_000, call);
  const info = await within(() => connection.workflowService.getSystemInfo({}));
  const server = ok('temporal', `server ${safe(info.serverVersion)}, namespace ${safe(namespace)}`);
  return [
    server,
    await checked('namespace', async () => {
      await within(() => connection.workflowService.describeNamespace({ namespace }));
      return ok('namespace', `${safe(namespace)} is there`);
    }),
    await checked('search attributes', async () => {
      const { customAttributes } = await within(() =>
        client.connection.operatorService.listSearchAttributes({ namespace }),
      );
      const missing = Object.entries(SEARCH_ATTRIBUTES).filter(
        ([name, type]) => customAttributes[name] !== ATTRIBUTE_TYPES[type],
      );
      if (missing.length === 0) return ok('search attributes', 'all five are registered');
      return failed(
        'search attributes',
        `missing or of another type: ${missing.map(([name, type]) => `${name} (${type})`).join(', ')}; see deploy/temporal-setup.sh`,
      );
    }),
    await checked('worker', async () => {
      const queue = { name: taskQueue };
      const { pollers } = await within(() =>
        connection.workflowService.describeTaskQueue({
          namespace,
          taskQueue: queue,
          taskQueueType: TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        }),
      );
      const alive = pollers.filter(({ identity }) => !hasEnded(identity ?? '')).length;
      return alive > 0
        ? ok('worker', `${count(alive, 'worker')} ${alive === 1 ? 'polls' : 'poll'} task queue ${safe(taskQueue)}`)
        : failed('worker', `no worker polls task queue ${taskQueue}: nothing is judged or run`);
    }),
    await checked('ledger mark', () => withLedger(place, ({ store }) => markCheck(client, store, taskQueue))),
  ];
}

/** Temporal lists a poller for minutes after it ended; of a process on this machine its absence is known at once. */
function hasEnded(identity: string): boolean {
  const [, pid, host] = /^(\d+)@(.+)$/.exec(identity) ?? [];
  return pid !== undefined && host === hostname() && !isRunning({ pid: Number(pid) });
}

async function markCheck(client: Holdpoint['client'], store: Ledger['store'], taskQueue: string): Promise<Check> {
  const [mark, epoch, head] = await Promise.all([readMark(client, taskQueue), readEpoch(store.db), readHead(store.db)]);
  if (mark === null) return ok('ledger mark', 'Temporal has none yet; the first worker leaves one');
  const behind = mark.epoch !== epoch || mark.seq > (head?.seq ?? 0);
  if (!behind) return ok('ledger mark', 'the ledger is the one that Temporal last saw');
  return failed(
    'ledger mark',
    'the ledger is older than, or another one than, what Temporal last saw: look at what was sent since, then "holdpoint ledger accept"',
  );
}
