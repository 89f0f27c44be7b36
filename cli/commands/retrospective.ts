import { Argument, type Command } from 'commander';
import type { Finding } from '../../core/retrospective';
import { listRetrospectives, type RetrospectiveRecord } from '../../ledger/retrospective-queries';
import type { Store } from '../../ledger/transaction';
import { describeCommand, withAs, withJson, withState, type Cli } from '../command';
import { commandName } from '../command-name';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import type { Io } from '../io';
import { paintFor } from '../paint';
import { findPlace, withLedger, type PlaceOptions } from '../place';
import { actorOf, claimed } from '../reviewer';
import { count, jsonLine, safe, table } from '../text';
import { reviewText } from '../retrospective-text';

interface ListOptions extends PlaceOptions {
  readonly all?: boolean;
  readonly json?: boolean;
}

interface CloseOptions extends PlaceOptions {
  readonly as?: string;
  readonly json?: boolean;
  readonly note: string;
}

export function addRetrospective(program: Command, { io, end }: Cli): void {
  const retrospective = program
    .command('retrospective')
    .description('List and close the reviews of emergencies, by those whom they skipped');
  describeCommand(withJson(withState(retrospective.command('list'))), {
    summary: 'List the emergencies whose review is open. While one is overdue, the next emergency is refused.',
    examples: ['holdpoint retrospective list', 'holdpoint retrospective list --all --json'],
    exits: ['unreachable'],
  })
    .option('--all', 'also those that are closed; the latest 200')
    .action((options: ListOptions) => end(list(io, options)));
  describeCommand(withJson(withState(withAs(retrospective.command('close')))), {
    summary: 'Close the review of an emergency with what you found.',
    examples: ['holdpoint retrospective close gr_3f9c justified --note "the replica was gone; runbook changed"'],
    exits: ['notFound', 'unreachable'],
  })
    .argument('<emergency>', 'its id, or the beginning of it')
    .addArgument(new Argument('<finding>', 'what you found').choices(['justified', 'notJustified']))
    .requiredOption('--note <text>', 'what was found, and what follows from it; kept on record')
    .action((id: string, finding: Finding, options: CloseOptions) => end(close(io, { id, finding, options })));
}

async function list(io: Io, { all = false, ...options }: ListOptions): Promise<ExitName> {
  const place = await findPlace(io, options);
  return withLedger<ExitName>(place, async ({ store }) => {
    const emergencies = await listRetrospectives(store.db, { all });
    const nowMs = await store.nowMs();
    if (options.json === true) io.stdout.write(`${jsonLine(emergencies)}\n`);
    else if (emergencies.length === 0) io.stderr.write('No review of an emergency is open.\n');
    else {
      const rows = emergencies.map((emergency) => row(emergency, nowMs));
      io.stdout.write(`${table(['emergency', 'review', 'rule, ticket', 'tool', 'allowed by', 'skipped'], rows)}\n`);
      const open = emergencies.filter(({ closed }) => closed === null).length;
      if (open > 0)
        io.stderr.write(
          `\n${count(open, 'review')} to close: ${commandName(io.env)} retrospective close EMERGENCY justified|notJustified --note TEXT\n`,
        );
    }
    return 'ok';
  });
}

function row(emergency: RetrospectiveRecord, nowMs: number): readonly string[] {
  return [
    emergency.grantId.slice(0, 15),
    reviewText(emergency, nowMs),
    `${safe(emergency.rule)}, ${safe(emergency.ticket)}`,
    `${safe(emergency.server)} / ${safe(emergency.tool)}`,
    emergency.deciders.map(safe).join(', '),
    emergency.skipped.map(safe).join(', '),
  ];
}

interface Closing {
  readonly id: string;
  readonly finding: Finding;
  readonly options: CloseOptions;
}

async function close(io: Io, { id, finding, options }: Closing): Promise<ExitName> {
  const place = await findPlace(io, options);
  const by = actorOf(io, place, options);
  return withLedger<ExitName>(place, async (ledger) => {
    const { grantId } = await oneEmergency(ledger.store, id);
    const { note } = options;
    const closed = await ledger.closeRetrospective({ grantId, finding, by, note });
    if (!closed.ok) throw new CliFailure('refused', `${closed.detail}. Nothing was changed.`);
    if (options.json === true) io.stdout.write(`${jsonLine({ grantId, finding, by, verified: false, note })}\n`);
    else
      io.stdout.write(
        `The review of ${grantId} is closed as ${finding}, recorded as ${claimed(by, paintFor(io.stdout))}.\n`,
      );
    return 'ok';
  });
}

async function oneEmergency({ db }: Store, id: string): Promise<RetrospectiveRecord> {
  const all = id.length < 5 ? [] : await listRetrospectives(db, { all: true });
  const [first, second] = all.filter(({ grantId }) => grantId.startsWith(id.toLowerCase()));
  if (first === undefined)
    throw new CliFailure(
      'notFound',
      `No emergency has the id ${safe(id)}. Nothing was changed.`,
      'List them with "holdpoint retrospective list --all".',
    );
  if (second === undefined) return first;
  throw new CliFailure('refused', `${safe(id)} fits several emergencies; nothing was changed. Give more characters.`);
}
