import type { Command } from 'commander';
import { EXIT_CODES, type ExitName } from './exit-codes';
import type { Io } from './io';

/** What every command gets: the world, and where to leave how it ended. */
export interface Cli {
  readonly io: Io;
  /** Awaits a command's action and keeps its exit code. */
  readonly end: (action: Promise<ExitName>) => Promise<void>;
}

interface CommandWords {
  readonly summary: string;
  readonly examples: readonly string[];
  /** The codes beside 0, 1 and 70, which every command may end with. */
  readonly exits?: readonly ExitName[];
}

/** Gives a command its words: summary, examples and exit codes, all of them in its `--help`. */
export function describeCommand(command: Command, { summary, examples, exits = [] }: CommandWords): Command {
  const names: readonly ExitName[] = ['ok', 'refused', ...exits];
  const codes = names.map((name) => `  ${EXIT_CODES[name].code}  ${EXIT_CODES[name].means}`);
  const lines = ['', 'Examples:', ...examples.map((example) => `  $ ${example}`), '', 'Exit codes:', ...codes];
  // The list of commands gets the first clause; the command's own help the whole.
  const [first = summary] = summary.split(/[:.,] /);
  return command.summary(first.replace(/\.$/, '')).description(summary).addHelpText('after', lines.join('\n'));
}

const STATE_HELP = 'state folder of a "holdpoint dev" (default: .holdpoint here, unless the environment names another)';

/** `--state DIR`, for every command that needs to know which Holdpoint is meant. */
export function withState(command: Command): Command {
  return command.option('--state <dir>', STATE_HELP);
}

/** `--json`: one JSON document on stdout, in ASCII. */
export function withJson(command: Command): Command {
  return command.option('--json', 'print JSON for programs');
}

/** `--as NAME`, for every command that is somebody's act. */
export function withAs(command: Command): Command {
  return command.option(
    '--as <name>',
    'who does this (default: HOLDPOINT_REVIEWER, or the reviewer of "holdpoint dev")',
  );
}
