import { InvalidArgumentError, type Command } from 'commander';
import { decisionOn, type Decision, type Verdict, type VerdictCode } from '../../client';
import { isBlank } from '../../core/display';
import { personOf } from '../../core/policy-lookup';
import type { ApprovalRequest } from '../../core/request';
import { revisionsOf } from '../../ledger/queries';
import { describeCommand, withAs, withJson, withState, type Cli } from '../command';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import { oneOperation } from '../find';
import type { Io } from '../io';
import { paintFor } from '../paint';
import { findPlace, withLedger, type Place, type PlaceOptions } from '../place';
import { withProgress } from '../progress';
import { actorOf, NOT_SIGNED, signed, type ReviewerOptions } from '../reviewer';
import { assertRunning, withTemporal } from '../temporal';
import { jsonLine, safe } from '../text';

/** Somebody at a terminal rather waits than sends again; long enough for a worker that is being started. */
const PATIENCE_MS = 15_000;

interface Options extends PlaceOptions, ReviewerOptions {
  readonly reason?: string;
  readonly minutes?: number;
  readonly emergency?: string;
  readonly ticket?: string;
  readonly json?: boolean;
}

const WORDS = {
  allow: {
    summary: 'Allow one approval request, as it was shown: another revision or content is refused as stale.',
    examples: [
      'holdpoint allow 7KQ2M4XB',
      'holdpoint allow 7KQ2M4XB --minutes 15 --as dana --key dana.pem',
      'holdpoint allow 7KQ2M4XB --emergency break-glass --ticket INC-7 --reason "checkout is down"',
    ],
  },
  deny: {
    summary: 'Deny one approval request. It closes this request only; the reason goes to the model.',
    examples: ['holdpoint deny 7KQ2M4XB --reason "use the staging copy"'],
  },
} as const;

export function addDecide(program: Command, { io, end }: Cli): void {
  for (const answer of ['allow', 'deny'] as const) {
    const command = describeCommand(withJson(withState(withAs(program.command(answer)))), {
      ...WORDS[answer],
      exits: ['notFound', 'unreachable', 'notYet'],
    });
    if (answer === 'allow') {
      command
        .option('--minutes <n>', 'a shorter window than the rule gives', minutesOf)
        .option(
          '--emergency <rule>',
          'allow under this emergency rule, which skips the approvers; they review it later',
        )
        .option('--ticket <id>', 'of the incident; with --emergency');
    }
    command
      .argument('<id>', 'short id, operation id, or the beginning of one')
      .option('--reason <text>', 'why; kept on record')
      .option(
        '--key <file>',
        "your private key, to sign the decision (default: HOLDPOINT_REVIEWER_KEY_FILE, or the dev reviewer's)",
      )
      .action((id: string, options: Options) => end(decide(io, { id, answer, options })));
  }
}

function minutesOf(text: string): number {
  const minutes = Number(text);
  if (!Number.isInteger(minutes) || minutes < 1)
    throw new InvalidArgumentError('It is a whole number of minutes, 1 or more.');
  return minutes;
}

interface Deciding {
  readonly id: string;
  readonly answer: Decision['answer'];
  readonly options: Options;
}

async function decide(io: Io, { id, answer, options }: Deciding): Promise<ExitName> {
  const emergency = emergencyOf(options);
  const place = await findPlace(io, options);
  assertRunning(place);
  const request = await meantRequest(place, id);
  const { reason, minutes } = options;
  const unsigned = decisionOn(request, {
    answer,
    reviewer: actorOf(io, place, options),
    channel: 'cli',
    ...(reason !== undefined && { reason }),
    ...(minutes !== undefined && { minutes }),
    ...(emergency !== null && { emergency }),
  });
  const { decision, publicKey } = await signed(io, place, { options, decision: unsigned });
  const verdict = await withTemporal(io, place, (holdpoint) =>
    withProgress(
      io,
      'sending the decision to its turn',
      holdpoint.decide(request.workflowId, decision, { limitMs: PATIENCE_MS }),
    ),
  );
  if (options.json === true) io.stdout.write(`${jsonLine(verdict)}\n`);
  else {
    const verified = decision.signature !== undefined && (await hasKey(place, decision.reviewer));
    io.stdout.write(`${verdictText(io, { request, decision, verdict, verified, publicKey })}\n`);
  }
  return EXITS[verdict.code];
}

/** Asked for before anything is sent: the ledger would refuse it with the same words. */
function emergencyOf({ emergency: rule, ticket, reason = '' }: Options): NonNullable<Decision['emergency']> | null {
  if (rule === undefined && ticket === undefined) return null;
  if (rule === undefined) throw new CliFailure('refused', '--ticket goes with --emergency RULE. Nothing was sent.');
  const missing = [...(isBlank(ticket ?? '') ? ['--ticket'] : []), ...(isBlank(reason) ? ['--reason'] : [])];
  if (missing.length === 0) return { rule, ticket: ticket ?? '' };
  throw new CliFailure(
    'refused',
    `An emergency needs ${missing.join(' and ')}: those whom it skips read it at once. Nothing was sent.`,
  );
}

/** The revision that the id names; an operation id means its latest one. A closed one is sent too: that is on record then. */
async function meantRequest(place: Place, id: string): Promise<ApprovalRequest> {
  return withLedger(place, async ({ store }) => {
    const { operationId, revision } = await oneOperation(store, id);
    const revisions = await revisionsOf(store.db, operationId);
    const meant = revisions.find(({ request }) => request.revision === revision) ?? revisions.at(-1);
    if (meant !== undefined) return meant.request;
    throw new CliFailure('refused', `${operationId} needed no approval: no rule asked, so there is nothing to decide.`);
  });
}

/** A counted signature was checked exactly where the active policy lists a key to check it against. */
async function hasKey(place: Place, reviewer: string): Promise<boolean> {
  const active = await withLedger(place, (ledger) => ledger.activePolicy());
  return active !== null && (personOf(active.policy, reviewer)?.keys ?? []).length > 0;
}

const EXITS: Readonly<Record<VerdictCode, ExitName>> = {
  accepted: 'ok',
  alreadyDecided: 'ok',
  conflict: 'refused',
  late: 'refused',
  stale: 'refused',
  notAReviewer: 'refused',
  selfApproval: 'refused',
  badSignature: 'refused',
  cannotWiden: 'refused',
  emergencyRefused: 'refused',
  signInNeeded: 'refused',
  unknownRequest: 'notFound',
  malformed: 'refused',
  tooLarge: 'refused',
  limit: 'refused',
  notRecorded: 'notYet',
};

interface Answered {
  readonly request: ApprovalRequest;
  readonly decision: Decision;
  readonly verdict: Verdict;
  readonly verified: boolean;
  readonly publicKey: string | null;
}

function verdictText({ stdout }: Io, { request, decision, verdict, verified, publicKey }: Answered): string {
  const paint = paintFor(stdout);
  const reviewer = safe(decision.reviewer);
  const what = `${request.shortId} ${safe(request.server)} / ${safe(request.tool)} for ${safe(request.requester.subject)}`;
  const detail = safe(verdict.detail);
  if (EXITS[verdict.code] !== 'ok') {
    const refused = `${paint.red(`this ${decision.answer} does not count [${verdict.code}]`)}  ${what}: ${detail}`;
    const showKey = verdict.code === 'badSignature' && publicKey !== null;
    return showKey ? `${refused}\nit was signed by people: { ${reviewer}: { key: '${publicKey}' } }` : refused;
  }
  const counted = verdict.counted === null ? '' : ` (${verdict.counted.allows} of ${verdict.counted.needed})`;
  const sign = verified ? 'signed' : paint.red(unverifiedText(decision));
  return `${paint.green(decision.answer === 'allow' ? 'allow' : 'deny')} ${what}: ${detail}${counted}\nrecorded as ${reviewer}, ${sign}`;
}

function unverifiedText({ reviewer, signature }: Decision): string {
  return signature === undefined ? NOT_SIGNED : `UNVERIFIED: the active policy lists no key of ${safe(reviewer)}`;
}
