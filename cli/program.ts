import { Command, CommanderError } from 'commander';
import { addAudit } from './commands/audit';
import { addDecide } from './commands/decide';
import { addDev } from './commands/dev';
import { addDoctor } from './commands/doctor';
import { addConsole } from './commands/console';
import { addGateway } from './commands/gateway';
import { addGrant } from './commands/grant';
import { addInit } from './commands/init';
import { addKey } from './commands/key';
import { addLedger } from './commands/ledger';
import { addPolicy } from './commands/policy';
import { addReport } from './commands/report';
import { addRequests } from './commands/requests';
import { addRetrospective } from './commands/retrospective';
import { addSettle } from './commands/settle';
import { addShow } from './commands/show';
import { addTurn } from './commands/turn';
import { addWorker } from './commands/worker';
import type { Cli } from './command';
import { EXIT_CODES, type ExitName } from './exit-codes';
import { reportFailure } from './failure';
import type { Io } from './io';
import { safeBlock } from './text';
import { VERSION } from './version';

/** Runs one command line, without the two words before it; answers the exit code. */
export async function runCli(argv: readonly string[], io: Io): Promise<number> {
  const ended: { as: ExitName } = { as: 'ok' };
  const program = createProgram({
    io,
    end: async (action) => {
      ended.as = await action;
    },
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return EXIT_CODES[ended.as].code;
  } catch (error) {
    // Commander has said what it is about already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.ok.code : EXIT_CODES.refused.code;
    return reportFailure(io, error);
  }
}

/** The whole command tree; tests compare its help with docs/cli.md. */
export function createProgram(cli: Cli): Command {
  const { stdout, stderr } = cli.io;
  const program = new Command('holdpoint')
    .description("Durable approval for AI agents' tool calls: each waits for the right people, then runs once.")
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .exitOverride()
    .showHelpAfterError('(add --help for what is allowed)')
    .configureOutput({
      writeOut: (text) => {
        stdout.write(text);
      },
      // An argument may hold anything, and is repeated in the message.
      writeErr: (text) => {
        stderr.write(safeBlock(text));
      },
    });
  for (const add of [
    addDev,
    addTurn,
    addRequests,
    addShow,
    addDecide,
    addSettle,
    addRetrospective,
    addReport,
    addGrant,
    addPolicy,
    addInit,
    addKey,
    addAudit,
    addDoctor,
    addLedger,
    addWorker,
    addGateway,
    addConsole,
  ])
    add(program, cli);
  return program;
}
