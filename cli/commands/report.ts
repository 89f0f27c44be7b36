import type { Command } from 'commander';
import { describeCommand, withAs, withJson, withState, type Cli } from '../command';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import { oneOperation } from '../find';
import type { Io } from '../io';
import { paintFor } from '../paint';
import { findPlace, withLedger, type PlaceOptions } from '../place';
import { actorOf, claimed } from '../reviewer';
import { jsonLine } from '../text';

interface Options extends PlaceOptions {
  readonly as?: string;
  readonly json?: boolean;
  readonly reason: string;
}

export function addReport(program: Command, { io, end }: Cli): void {
  const report = program.command('report').description('Put on record what became of an operation later.');
  describeCommand(withJson(withState(withAs(report.command('reversal')))), {
    summary: 'Say that the effect of an executed operation was undone. It stays executed, since it was.',
    examples: ['holdpoint report reversal op_3f9c --reason "wrong tenant, restored from backup, ticket OPS-131"'],
    exits: ['notFound', 'unreachable'],
  })
    .argument('<operation>', 'operation id, or the beginning of it')
    .requiredOption('--reason <text>', 'what was wrong with it, and how it was undone; kept on record')
    .action((id: string, options: Options) => end(reversal(io, { id, options })));
}

async function reversal(
  io: Io,
  { id, options }: { readonly id: string; readonly options: Options },
): Promise<ExitName> {
  const place = await findPlace(io, options);
  const by = actorOf(io, place, options);
  return withLedger<ExitName>(place, async (ledger) => {
    const { operationId } = await oneOperation(ledger.store, id);
    const { reason } = options;
    const reported = await ledger.reportReversal({ operationId, by, reason });
    if (!reported.ok) throw new CliFailure('refused', `${reported.detail}. Nothing was recorded.`);
    if (options.json === true) io.stdout.write(`${jsonLine({ operationId, by, verified: false, reason })}\n`);
    else
      io.stdout.write(
        `The reversal of ${operationId} is on record, reported by ${claimed(by, paintFor(io.stdout))}.\n`,
      );
    return 'ok';
  });
}
