import type { Command } from 'commander';
import { TASK_QUEUE } from '../../workflows/messages';
import { acceptLedger } from '../../worker/ledger-guard';
import { describeCommand, withJson, withState, type Cli } from '../command';
import type { ExitName } from '../exit-codes';
import type { Io } from '../io';
import { findPlace, withLedger, type PlaceOptions } from '../place';
import { withTemporal } from '../temporal';
import { jsonLine } from '../text';

interface Options extends PlaceOptions {
  readonly json?: boolean;
}

export function addLedger(program: Command, { io, end }: Cli): void {
  const ledger = program.command('ledger').description('Acts on the ledger as a whole');
  describeCommand(withJson(withState(ledger.command('accept'))), {
    summary: 'Accept a restored ledger, after a look at what was sent since the backup: workers run on it again.',
    examples: ['holdpoint ledger accept', 'holdpoint ledger accept --json'],
    exits: ['unreachable'],
  }).action((options: Options) => end(accept(io, options)));
}

async function accept(io: Io, options: Options): Promise<ExitName> {
  const place = await findPlace(io, options);
  const taskQueue = (place.kind === 'dev' ? place.dev?.taskQueue : io.env['HOLDPOINT_TASK_QUEUE']) ?? TASK_QUEUE;
  const mark = await withLedger(place, ({ store }) =>
    withTemporal(io, place, ({ client }) => acceptLedger(client, store, taskQueue)),
  );
  const text = `The ledger of epoch ${mark.epoch} is accepted as it is, with ${mark.seq} audit records. Start the workers again.`;
  io.stdout.write(`${options.json === true ? jsonLine(mark) : text}\n`);
  return 'ok';
}
