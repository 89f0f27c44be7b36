import { WorkflowNotFoundError } from '@temporalio/client';
import type { Command } from 'commander';
import { HoldpointError, type Holdpoint, type Turn, type TurnSnapshot } from '../../client';
import { describeCommand, withJson, withState, type Cli } from '../command';
import { commandName } from '../command-name';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import { isOpen, turnNotFound, turnOf } from '../find-turn';
import type { Io } from '../io';
import { paintFor } from '../paint';
import { findPlace, type Place, type PlaceOptions } from '../place';
import { withProgress } from '../progress';
import { readTurn } from '../read-turn';
import { settledSince } from '../settled-since';
import { withTemporal } from '../temporal';
import { jsonBlock, jsonLine, safe } from '../text';
import { eventText, resultsText, snapshotText } from '../turn-text';

interface Options extends PlaceOptions {
  readonly subject?: string;
  readonly wait?: boolean;
  readonly call?: string;
  readonly reason?: string;
  readonly json?: boolean;
}

export function addTurn(program: Command, { io, end }: Cli): void {
  const turn = program.command('turn').description("Start, follow and take back an agent's turn");
  describeCommand(withJson(withState(turn.command('start'))), {
    summary: 'Start a turn from a JSON file, or attach to it: the same id with the same content is the same turn.',
    examples: [
      'holdpoint turn start examples/production-migration/turn.json',
      'agent | holdpoint turn start - --wait --json',
    ],
    exits: ['notFound', 'unreachable', 'notYet', 'notExecuted'],
  })
    .argument(
      '<file>',
      '{ id, requester: { subject, agent }, calls: [{ id, server, tool, arguments }] }; - reads stdin',
    )
    .option('--wait', 'stay until every call has its result, and print the results')
    .action((file: string, options: Options) => end(start(io, file, options)));
  const onTurn = (name: string) =>
    withJson(withState(turn.command(name)))
      .argument('<id>', 'turn id')
      .option('--subject <subject>', 'whose turn (default: what the ledger says)');
  describeCommand(onTurn('show'), {
    summary: 'Show where a turn stands: its calls, and what waits for people.',
    examples: ['holdpoint turn show chat-1/7'],
    exits: ['notFound', 'unreachable'],
  }).action((id: string, options: Options) => end(withTurn(io, { id, options }, showOne)));
  describeCommand(onTurn('events'), {
    summary: 'Print what happens in a turn, from its first event to its end.',
    examples: ['holdpoint turn events chat-1/7', 'holdpoint turn events chat-1/7 --json | jq -c .type'],
    exits: ['notFound', 'unreachable'],
  }).action((id: string, options: Options) => end(withTurn(io, { id, options }, events)));
  describeCommand(onTurn('results'), {
    summary: 'Print the results of a turn, in call order, as the model gets them.',
    examples: ['holdpoint turn results chat-1/7 --wait'],
    exits: ['notFound', 'unreachable', 'notYet', 'notExecuted'],
  })
    .option('--wait', 'stay until the turn has ended')
    .action((id: string, options: Options) => end(withTurn(io, { id, options }, results)));
  describeCommand(onTurn('withdraw'), {
    summary: 'Take back what was not sent: the whole turn, or one call. What was sent goes on to its outcome.',
    examples: ['holdpoint turn withdraw chat-1/7', 'holdpoint turn withdraw chat-1/7 --call c2 --reason "wrong table"'],
    exits: ['notFound', 'unreachable'],
  })
    .option('--call <id>', 'only this call')
    .option('--reason <text>', 'why; kept on record')
    .action((id: string, options: Options) => end(withTurn(io, { id, options }, withdraw)));
}

async function start(io: Io, file: string, options: Options): Promise<ExitName> {
  const place = await findPlace(io, options);
  const given = await readTurn(io, place, file);
  return withTemporal<ExitName>(io, place, async (holdpoint) => {
    const turn = await withProgress(io, 'starting the turn', holdpoint.startTurn(given));
    printLinks(io, place, turn);
    if (options.wait === true) return showResults({ io, holdpoint, place, turn, options });
    try {
      return endedUnexecuted(await show({ io, holdpoint, place, turn, options })) ? 'notExecuted' : 'ok';
    } catch (error) {
      if (!(error instanceof HoldpointError) || error.code !== 'TURN_NO_ANSWER') throw error;
      io.stderr.write('The turn is started and kept; no worker answers, so nobody is asked yet.\n');
      return 'notYet';
    }
  });
}

/** Where a turn can be watched, for people. */
function printLinks({ stderr }: Io, place: Place, turn: Turn): void {
  const uiUrl = place.kind === 'dev' ? place.dev?.temporal.uiUrl : undefined;
  if (uiUrl === undefined || !stderr.isTty) return;
  stderr.write(`Temporal UI: ${uiUrl}/namespaces/default/workflows/${encodeURIComponent(turn.workflowId)}\n`);
}

interface OnTurn {
  readonly io: Io;
  readonly holdpoint: Holdpoint;
  readonly place: Place;
  readonly turn: Turn;
  readonly options: Options;
}

async function withTurn(
  io: Io,
  { id, options }: { id: string; options: Options },
  work: (on: OnTurn) => Promise<ExitName>,
): Promise<ExitName> {
  const place = await findPlace(io, options);
  return withTemporal(io, place, async (holdpoint) => {
    const meant = await turnOf(holdpoint, place, {
      id,
      ...(options.subject !== undefined && { subject: options.subject }),
    });
    try {
      return await work({ io, holdpoint, place, turn: meant.turn, options });
    } catch (error) {
      throw error instanceof WorkflowNotFoundError ? turnNotFound(meant) : error;
    }
  });
}

async function show({ io, holdpoint, turn, options }: OnTurn): Promise<TurnSnapshot> {
  const snapshot = await withProgress(io, 'asking the turn', snapshotOf(holdpoint, turn));
  io.stdout.write(
    `${options.json === true ? jsonBlock(snapshot) : snapshotText(snapshot, paintFor(io.stdout), commandName(io.env))}\n`,
  );
  return snapshot;
}

async function showOne(on: OnTurn): Promise<ExitName> {
  await show(on);
  return 'ok';
}

function endedUnexecuted({ calls, refusal }: TurnSnapshot): boolean {
  const ends = calls.map(({ state }) => (state.status === 'ended' ? state.end.outcome : null));
  return refusal !== null || (!ends.includes(null) && ends.some((outcome) => outcome !== 'executed'));
}

/** A turn that has ended answers its query as well, from its history. */
async function snapshotOf(holdpoint: Holdpoint, turn: Turn): Promise<TurnSnapshot> {
  await isOpen(holdpoint, turn);
  return turn.snapshot();
}

async function events({ io, holdpoint, turn, options }: OnTurn): Promise<ExitName> {
  await isOpen(holdpoint, turn);
  const [paint, command] = [paintFor(io.stdout), commandName(io.env)];
  for await (const event of turn.events()) {
    io.stdout.write(`${options.json === true ? jsonLine(event) : eventText(event, paint, command)}\n`);
  }
  return 'ok';
}

async function results(on: OnTurn): Promise<ExitName> {
  const { io, holdpoint, turn, options } = on;
  if (options.wait !== true && (await isOpen(holdpoint, turn))) {
    io.stderr.write(
      `The turn ${safe(turn.id)} is still open: see "${commandName(io.env)} turn show", or add --wait.\n`,
    );
    return 'notYet';
  }
  return showResults(on);
}

async function showResults({ io, place, turn, options }: OnTurn): Promise<ExitName> {
  const ended = await withProgress(io, `waiting for the turn ${safe(turn.id)} to end`, turn.results());
  const since = await settledSince(place, ended);
  const withSince = ended.map((result) => {
    const settled = since.get(result.operationId);
    return settled === undefined ? result : { ...result, settledSince: settled };
  });
  io.stdout.write(`${options.json === true ? jsonBlock(withSince) : resultsText(ended, since, paintFor(io.stdout))}\n`);
  return ended.every(({ outcome }) => outcome === 'executed') ? 'ok' : 'notExecuted';
}

async function withdraw({ io, holdpoint, turn, options }: OnTurn): Promise<ExitName> {
  const { call, reason } = options;
  if (!(await isOpen(holdpoint, turn))) {
    io.stderr.write(`The turn ${safe(turn.id)} has ended; nothing was withdrawn.\n`);
    return 'refused';
  }
  const known = call === undefined ? null : await turn.snapshot().catch(() => null);
  if (call !== undefined && known?.calls.every(({ callId }) => callId !== call) === true) {
    const calls = known.calls.map(({ callId }) => safe(callId)).join(', ');
    throw new CliFailure(
      'notFound',
      `The turn ${safe(turn.id)} has no call ${safe(call)}. Nothing was withdrawn.`,
      `Its calls: ${calls}.`,
    );
  }
  await turn.withdraw({ ...(call !== undefined && { callId: call }), ...(reason !== undefined && { reason }) });
  const message = `Withdrawal of ${call === undefined ? 'every call that was not sent' : `call ${safe(call)}`} is sent to turn ${safe(turn.id)}.`;
  io.stdout.write(
    `${options.json === true ? jsonLine({ turnId: turn.id, callId: call ?? null, sent: true }) : message}\n`,
  );
  return 'ok';
}
