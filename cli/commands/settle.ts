import { Argument, type Command } from 'commander';
import { unknownOperations } from '../../ledger/queries';
import { describeCommand, withAs, withJson, withState, type Cli } from '../command';
import { commandName } from '../command-name';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import { oneOperation } from '../find';
import type { Io } from '../io';
import { findPlace, withLedger, type PlaceOptions } from '../place';
import { paintFor } from '../paint';
import { actorOf, claimed } from '../reviewer';
import { count, jsonLine, safe, table, when } from '../text';

interface UnknownOptions extends PlaceOptions {
  readonly json?: boolean;
}

interface SettleOptions extends UnknownOptions {
  readonly as?: string;
  readonly reason: string;
}

/** `unknown` lists what `settle` answers. */
export function addSettle(program: Command, { io, end }: Cli): void {
  describeCommand(withJson(withState(program.command('unknown'))), {
    summary: 'List the operations that were sent and whose outcome nobody knows.',
    examples: ['holdpoint unknown', "holdpoint unknown --json | jq -r '.[].operationId'"],
    exits: ['unreachable'],
  }).action((options: UnknownOptions) => end(unknown(io, options)));
  describeCommand(withJson(withState(withAs(program.command('settle')))), {
    summary: 'State the outcome of an operation that is unknown, after looking at the system itself.',
    examples: ['holdpoint settle op_3f9c executed --reason "migration 7 is in schema_migrations, ticket OPS-112"'],
    exits: ['notFound', 'unreachable'],
  })
    .argument('<operation>', 'operation id, or the beginning of it')
    .addArgument(
      new Argument('<outcome>', 'executed: it took effect; failed: nothing was done').choices(['executed', 'failed']),
    )
    .requiredOption('--reason <text>', 'what proves it; kept on record')
    .action((id: string, outcome: 'executed' | 'failed', options: SettleOptions) =>
      end(settle(io, { id, outcome, options })),
    );
}

async function unknown(io: Io, options: UnknownOptions): Promise<ExitName> {
  const place = await findPlace(io, options);
  const operations = await withLedger(place, ({ store }) => unknownOperations(store.db));
  if (options.json === true) io.stdout.write(`${jsonLine(operations)}\n`);
  else if (operations.length === 0) io.stderr.write('No outcome is unknown.\n');
  else {
    const rows = operations.map((operation) => [
      operation.operationId.slice(0, 15),
      when(operation.dispatchedAtMs),
      safe(operation.requester.subject),
      `${safe(operation.server)} / ${safe(operation.tool)}`,
      safe(operation.detail ?? ''),
    ]);
    io.stdout.write(`${table(['operation', 'sent', 'requester', 'tool', 'why'], rows)}\n`);
    io.stderr.write(
      `\n${count(operations.length, 'outcome')} to settle, each after a look at the system: ${commandName(io.env)} settle OPERATION executed|failed --reason TEXT\n`,
    );
  }
  return 'ok';
}

interface Settling {
  readonly id: string;
  readonly outcome: 'executed' | 'failed';
  readonly options: SettleOptions;
}

async function settle(io: Io, { id, outcome, options }: Settling): Promise<ExitName> {
  const place = await findPlace(io, options);
  const by = actorOf(io, place, options);
  if (options.reason.trim() === '')
    throw new CliFailure('refused', 'A settlement needs a reason. Nothing was recorded.');
  return withLedger<ExitName>(place, async (ledger) => {
    const { operationId } = await oneOperation(ledger.store, id);
    const settled = await ledger.settle({ operationId, outcome, by, reason: options.reason });
    if (!settled.ok) throw new CliFailure('refused', `${settled.detail}. Nothing was recorded.`);
    if (options.json === true)
      io.stdout.write(`${jsonLine({ operationId, outcome, by, verified: false, reason: options.reason })}\n`);
    else {
      io.stdout.write(`${operationId} is settled as ${outcome}, recorded as ${claimed(by, paintFor(io.stdout))}.\n`);
      io.stderr.write('The requester is told by an event, and reads it by starting the same turn again.\n');
    }
    return 'ok';
  });
}
