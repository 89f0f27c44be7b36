import type { Command } from 'commander';
import { showJson } from '../../core/display';
import type { Ledger } from '../../ledger/ledger';
import type { OperationMatch } from '../../ledger/find-operation';
import {
  decisionsOn,
  factsOf,
  operationRecord,
  revisionsOf,
  type Fact,
  type OperationRecord,
} from '../../ledger/queries';
import { retrospectivesOf } from '../../ledger/retrospective-queries';
import { cardText } from '../card';
import { describeCommand, withJson, withState, type Cli } from '../command';
import { commandName } from '../command-name';
import type { ExitName } from '../exit-codes';
import { oneOperation } from '../find';
import type { Io } from '../io';
import { paintFor, type Paint } from '../paint';
import { findPlace, withLedger, type PlaceOptions } from '../place';
import { emergencyText } from '../retrospective-text';
import { jsonBlock, safe, when } from '../text';

interface Options extends PlaceOptions {
  readonly audit?: boolean;
  readonly json?: boolean;
}

export function addShow(program: Command, { io, end }: Cli): void {
  describeCommand(withJson(withState(program.command('show'))), {
    summary: 'Show one approval request whole: who asks, what will run, which rule asks, what an allow would permit.',
    examples: [
      'holdpoint show 7KQ2M4XB',
      'holdpoint show op_3f9c --audit',
      'holdpoint show 7KQ2M4XB --json | jq .request.arguments',
    ],
    exits: ['notFound', 'unreachable'],
  })
    .argument('<id>', 'short id, operation id, or the beginning of one')
    .option('--audit', 'also print every fact that is on record of this operation')
    .action((id: string, options: Options) => end(show(io, id, options)));
}

async function show(io: Io, id: string, options: Options): Promise<ExitName> {
  const place = await findPlace(io, options);
  return withLedger<ExitName>(place, async (ledger) => {
    const match = await oneOperation(ledger.store, id);
    const record = await recordFor(ledger, match);
    if (options.json === true) io.stdout.write(`${jsonBlock(jsonOf(record))}\n`);
    else
      io.stdout.write(
        `${recordText(record, { paint: paintFor(io.stdout), command: commandName(io.env), audit: options.audit === true })}\n`,
      );
    return 'ok';
  });
}

/** Everything that is known of one operation, and the revision of its request that is meant. */
type CallRecord = Awaited<ReturnType<typeof recordFor>>;

async function recordFor(ledger: Ledger, { operationId, revision }: Pick<OperationMatch, 'operationId' | 'revision'>) {
  const { store } = ledger;
  const [revisions, decisions, operation, facts, emergencies, active, nowMs] = await Promise.all([
    revisionsOf(store.db, operationId),
    decisionsOn(store.db, operationId),
    operationRecord(store.db, operationId),
    factsOf(store.db, operationId),
    retrospectivesOf(store.db, operationId),
    ledger.activePolicy(),
    store.nowMs(),
  ]);
  const meant = revisions.find(({ request }) => request.revision === revision) ?? revisions.at(-1) ?? null;
  return {
    meant,
    revisions,
    decisions,
    operation,
    facts,
    emergencies,
    policy: active?.policy ?? null,
    trust: active?.trust ?? null,
    nowMs,
  };
}

function jsonOf({ meant, revisions, decisions, operation, facts, emergencies }: CallRecord) {
  const newest = revisions.at(-1)?.request.revision ?? null;
  return {
    request: meant?.request ?? null,
    standing: meant?.standing ?? null,
    newestRevision: newest,
    decisions,
    operation,
    facts,
    emergencies,
  };
}

interface Showing {
  readonly paint: Paint;
  /** What the user types to get this program. */
  readonly command: string;
  readonly audit: boolean;
}

function recordText(record: CallRecord, { paint, command, audit }: Showing): string {
  const { meant, revisions, decisions, operation, facts, emergencies, policy, trust, nowMs } = record;
  const newest = revisions.at(-1);
  const parts: string[] = [];
  if (meant !== null) parts.push(cardText({ ...meant, decisions, policy, trust, nowMs }, paint));
  if (meant !== null && newest !== undefined && newest !== meant) {
    parts.push(
      paint.yellow(
        `This is revision ${meant.request.revision}; revision ${newest.request.revision} came after it: ${command} show ${newest.request.shortId}`,
      ),
    );
  }
  if (operation !== null)
    parts.push(...(meant === null ? [headText(operation)] : []), outcomeText(operation, { paint, command }));
  parts.push(...emergencies.map((emergency) => emergencyText(emergency, { nowMs, paint })));
  if (audit || parts.length === 0) parts.push(`on record\n${facts.map(factText).join('\n')}`);
  return parts.join('\n');
}

function headText({ operationId, server, tool, requester }: OperationRecord): string {
  return `operation   ${operationId}  ${safe(server)} / ${safe(tool)}  for ${safe(requester.subject)}`;
}

/** How a sent operation ended and what proves it. */
function outcomeText(operation: OperationRecord, { paint, command }: Omit<Showing, 'audit'>): string {
  const { state, evidence, detail, attempt, settledBy, isError, approval } = operation;
  const word = {
    dispatched: paint.yellow('sent; its outcome is not known yet'),
    executed: paint.green('executed'),
    failed: paint.red('failed: nothing was done'),
    unknown: paint.red('OUTCOME UNKNOWN: a person has to settle it'),
  }[state];
  const how = [
    ...(evidence === null ? [] : [`by ${EVIDENCE[evidence] ?? safe(evidence)}`]),
    ...(isError === true ? ['the tool answered with an error'] : []),
    ...(settledBy === null ? [] : [`settled by ${safe(settledBy)}, UNVERIFIED`]),
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
  ];
  const lines = [
    `sent        ${when(operation.dispatchedAtMs)}`,
    `outcome     ${word}${how.length === 0 ? '' : ` (${how.join(', ')})`}${detail === null ? '' : `: ${safe(detail)}`}`,
  ];
  if (approval !== null)
    lines.push(
      `approved    by ${approval.deciders.map(safe).join(', ')} under ${safe(approval.permittedRule?.id ?? 'confirm')}, grant ${safe(approval.grantId ?? 'none')}`,
    );
  if (state === 'unknown')
    lines.push(`settle      ${command} settle ${operation.operationId.slice(0, 12)} executed|failed --reason TEXT`);
  return lines.join('\n');
}

const EVIDENCE: Readonly<Record<string, string>> = {
  answer: "the tool's own answer",
  lookUp: 'look-up at the tool',
  settlement: 'settlement',
  notSent: 'proof that nothing was sent',
};

/** One audit fact on one line. */
function factText({ seq, atMs, kind, body }: Fact): string {
  return `  #${seq}  ${when(atMs)}  ${safe(kind)}  ${showJson(body, 'line')}`;
}
