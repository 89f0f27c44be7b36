import type { Command } from 'commander';
import { describeCommand, withJson, withState, type Cli } from '../command';
import { examine, type Check } from '../doctor';
import type { ExitName } from '../exit-codes';
import type { Io } from '../io';
import { paintFor, type Paint } from '../paint';
import { findPlace, type PlaceOptions } from '../place';
import { withProgress } from '../progress';
import { jsonBlock } from '../text';

interface Options extends PlaceOptions {
  readonly json?: boolean;
}

export function addDoctor(program: Command, { io, end }: Cli): void {
  describeCommand(withJson(withState(program.command('doctor'))), {
    summary: 'Look at everything that Holdpoint needs, and say what is wrong and what to do.',
    examples: ['holdpoint doctor', 'holdpoint doctor --json | jq \'.[] | select(.status != "ok")\''],
    exits: ['unreachable'],
  }).action((options: Options) => end(doctor(io, options)));
}

async function doctor(io: Io, options: Options): Promise<ExitName> {
  const place = await findPlace(io, options);
  const checks = await withProgress(io, 'looking', examine(io, place));
  if (options.json === true) io.stdout.write(`${jsonBlock(checks)}\n`);
  else io.stdout.write(`${checks.map((check) => checkText(check, paintFor(io.stdout))).join('\n')}\n`);
  const isBroken = checks.some(({ status }) => status === 'fail');
  return isBroken ? 'unreachable' : 'ok';
}

function checkText({ name, status, detail }: Check, paint: Paint): string {
  const mark = { ok: paint.green('ok  '), warn: paint.yellow('warn'), fail: paint.red('FAIL') }[status];
  return `${mark}  ${name.padEnd(18)}${detail}`;
}
