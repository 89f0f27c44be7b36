import { setTimeout as delay } from 'node:timers/promises';
import { InvalidArgumentError, type Command } from 'commander';
import { showJson } from '../../core/display';
import type { ApprovalRequest } from '../../core/request';
import { listRequests, revisionsOf, type RequestFilter, type RequestRecord } from '../../ledger/queries';
import type { Store } from '../../ledger/transaction';
import { describeCommand, withJson, withState, type Cli } from '../command';
import { commandName } from '../command-name';
import type { ExitName } from '../exit-codes';
import type { Io } from '../io';
import { findPlace, withLedger, type PlaceOptions } from '../place';
import { count, jsonLine, relative, safe, table } from '../text';

type Status = RequestRecord['standing']['state'];

interface Options extends PlaceOptions {
  readonly status: Status;
  readonly server?: string;
  readonly tool?: string;
  readonly requester?: string;
  readonly approver?: string;
  readonly watch?: boolean;
  readonly json?: boolean;
}

const STATUSES: readonly Status[] = ['pending', 'allowed', 'denied', 'expired', 'withdrawn', 'superseded', 'refused'];
const WATCH_MS = 1_000;
const MATERIAL_WIDTH = 48;

export function addRequests(program: Command, { io, end }: Cli): void {
  describeCommand(withJson(withState(program.command('requests'))), {
    summary: 'List the approval requests that wait for people.',
    examples: [
      'holdpoint requests',
      'holdpoint requests --approver dba --watch',
      "holdpoint requests --json | jq -r '.[].request.shortId'",
    ],
    exits: ['unreachable'],
  })
    .option('--approver <name>', 'only those that ask this group or person now')
    .option('--server <name>', 'only this server')
    .option('--tool <name>', 'only this tool')
    .option('--requester <subject>', 'only this requester')
    .option('--status <status>', `pending, or one that is closed: ${STATUSES.slice(1).join(', ')}`, statusOf, 'pending')
    .option('--watch', 'stay, and print each request as it opens and closes; with --json one line each')
    .action((options: Options) => end(requests(io, options)));
}

function statusOf(text: string): Status {
  const found = STATUSES.find((status) => status === text);
  if (found === undefined) throw new InvalidArgumentError(`It is one of ${STATUSES.join(', ')}.`);
  return found;
}

async function requests(io: Io, options: Options): Promise<ExitName> {
  const place = await findPlace(io, options);
  return withLedger<ExitName>(place, async ({ store }) => {
    if (options.watch === true) return watch(io, store, options);
    const records = await listRequests(store.db, filterOf(options));
    const nowMs = await store.nowMs();
    if (options.json === true) io.stdout.write(`${jsonLine(records)}\n`);
    else show(io, records, { nowMs, status: options.status });
    return 'ok';
  });
}

function filterOf({ status, server, tool, requester, approver }: Options): RequestFilter {
  return {
    state: status,
    ...(server !== undefined && { server }),
    ...(tool !== undefined && { tool }),
    ...(requester !== undefined && { subject: requester }),
    ...(approver !== undefined && { approver }),
  };
}

function show(io: Io, records: readonly RequestRecord[], { nowMs, status }: { nowMs: number; status: Status }): void {
  if (records.length === 0) {
    io.stderr.write(status === 'pending' ? 'No request waits for people.\n' : `No request is ${status}.\n`);
    return;
  }
  io.stdout.write(`${requestTable(records, nowMs)}\n`);
  if (io.stderr.isTty && status === 'pending') {
    io.stderr.write(
      `\n${count(records.length, 'request')}. Read one before you decide: ${commandName(io.env)} show ID\n`,
    );
  }
}

/** One line for each request; the material is cut here, and whole on the card. */
function requestTable(records: readonly RequestRecord[], nowMs: number): string {
  const rows = records.map(({ request, standing }) => [
    request.shortId,
    standing.state === 'pending' ? relative(request.deadlineAtMs, nowMs) : standing.state,
    safe(request.requester.subject),
    `${safe(request.server)} / ${safe(request.tool)}`,
    materialText(request),
  ]);
  return table(
    ['id', records[0]?.standing.state === 'pending' ? 'expires' : 'state', 'requester', 'tool', 'material'],
    rows,
  );
}

function materialText({ material }: ApprovalRequest): string {
  const text = material
    .map(({ name, found, value }) => `${safe(name)}=${found ? showJson(value, 'line') : '(missing)'}`)
    .join(' ');
  return text.length <= MATERIAL_WIDTH ? text : `${text.slice(0, MATERIAL_WIDTH)}…`;
}

async function watch(io: Io, store: Store, options: Options): Promise<never> {
  const known = new Map<string, ApprovalRequest>();
  for (;;) {
    const open = await listRequests(store.db, filterOf({ ...options, status: 'pending' }));
    const now = new Map(open.map((record) => [keyOf(record.request), record]));
    for (const [key, record] of now) {
      if (!known.has(key)) await tell(io, { event: 'opened', record, store, options });
      known.set(key, record.request);
    }
    for (const [key, request] of known) {
      if (now.has(key)) continue;
      known.delete(key);
      const revisions = await revisionsOf(store.db, request.operationId);
      const record = revisions.find((revision) => revision.request.revision === request.revision);
      if (record !== undefined) await tell(io, { event: 'closed', record, store, options });
    }
    await delay(WATCH_MS);
  }
}

function keyOf({ operationId, revision }: ApprovalRequest): string {
  return `${operationId}.${revision}`;
}

interface Change {
  readonly event: 'opened' | 'closed';
  readonly record: RequestRecord;
  readonly store: Store;
  readonly options: Options;
}

async function tell({ stdout }: Io, { event, record, store, options }: Change): Promise<void> {
  if (options.json === true) {
    stdout.write(`${jsonLine({ event, ...record })}\n`);
    return;
  }
  const { request, standing } = record;
  const what = `${safe(request.requester.subject)}  ${safe(request.server)} / ${safe(request.tool)}  ${materialText(request)}`;
  const how = event === 'opened' ? `expires ${relative(request.deadlineAtMs, await store.nowMs())}` : standing.state;
  stdout.write(`${event === 'opened' ? '+' : '-'} ${request.shortId}  ${how}  ${what}\n`);
}
