import type { Command } from 'commander';
import { findGrants, latestGrants, liveGrants, type GrantRecord } from '../../ledger/grant-queries';
import { couldStillCover, UNLIMITED_USES } from '../../core/grant';
import type { Policy } from '../../core/policy';
import type { Store } from '../../ledger/transaction';
import { describeCommand, withAs, withJson, withState, type Cli } from '../command';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import type { Io } from '../io';
import { findPlace, withLedger, type PlaceOptions } from '../place';
import { paintFor } from '../paint';
import { actorOf, claimed } from '../reviewer';
import { jsonLine, relative, safe, table } from '../text';

interface ListOptions extends PlaceOptions {
  readonly all?: boolean;
  readonly json?: boolean;
}

interface RevokeOptions extends ListOptions {
  readonly as?: string;
  readonly reason: string;
}

export function addGrant(program: Command, { io, end }: Cli): void {
  const grant = program.command('grant').description('List and revoke what allowed requests permit');
  describeCommand(withJson(withState(grant.command('list'))), {
    summary: 'List the grants that still permit something.',
    examples: ['holdpoint grant list', 'holdpoint grant list --all --json'],
    exits: ['unreachable'],
  })
    .option('--all', 'also those that are used up, ended, revoked or not under this policy; the latest 200')
    .action((options: ListOptions) => end(list(io, options)));
  describeCommand(withJson(withState(withAs(grant.command('revoke')))), {
    summary: 'End a grant now. What was sent under it before stays sent.',
    examples: ['holdpoint grant revoke gr_3f9c --reason "wrong window"'],
    exits: ['notFound', 'unreachable'],
  })
    .argument('<grant>', 'grant id, or the beginning of it')
    .requiredOption('--reason <text>', 'why; kept on record')
    .action((id: string, options: RevokeOptions) => end(revoke(io, id, options)));
}

async function list(io: Io, options: ListOptions): Promise<ExitName> {
  const place = await findPlace(io, options);
  return withLedger<ExitName>(place, async (ledger) => {
    const { store } = ledger;
    const nowMs = await store.nowMs();
    const policy = (await ledger.activePolicy())?.policy ?? null;
    const grants = await (options.all === true ? latestGrants(store.db) : liveGrants(store.db, nowMs, policy));
    if (options.json === true) io.stdout.write(`${jsonLine(grants)}\n`);
    else if (grants.length === 0) io.stderr.write('No grant permits anything now.\n');
    else
      io.stdout.write(
        `${table(
          ['grant', 'state', 'uses', 'requester', 'tool', 'allowed by'],
          grants.map((grant) => row(grant, { nowMs, policy })),
        )}\n`,
      );
    return 'ok';
  });
}

interface Now {
  readonly nowMs: number;
  readonly policy: Policy | null;
}

function row(grant: GrantRecord, now: Now): readonly string[] {
  const unsigned = grant.verified ? '' : ' (UNVERIFIED)';
  return [
    // Long enough to be unique, with its revision left out.
    grant.grantId.slice(0, 15),
    stateOf(grant, now),
    `${grant.uses} of ${grant.maxUses === UNLIMITED_USES ? 'any' : grant.maxUses}`,
    safe(grant.requester.subject),
    `${safe(grant.server)} / ${safe(grant.tool)}`,
    grant.deciders.map(safe).join(', ') + unsigned,
  ];
}

function stateOf(grant: GrantRecord, { nowMs, policy }: Now): string {
  const { revokedAtMs, uses, maxUses, expiresAtMs } = grant;
  if (revokedAtMs !== null) return 'revoked';
  if (uses >= maxUses) return 'used up';
  if (expiresAtMs <= nowMs) return 'ended';
  // Not ended for good: the policy under which it was given may come back.
  if (policy === null || !couldStillCover(policy, grant)) return 'not under this policy';
  return `ends ${relative(expiresAtMs, nowMs)}`;
}

async function revoke(io: Io, id: string, options: RevokeOptions): Promise<ExitName> {
  const place = await findPlace(io, options);
  const by = actorOf(io, place, options);
  return withLedger<ExitName>(place, async (ledger) => {
    const { grantId } = await oneGrant(ledger.store, id);
    const revoked = await ledger.revokeGrant({ grantId, by, reason: options.reason });
    if (!revoked.ok) throw new CliFailure('refused', `${revoked.detail}. Nothing was changed.`);
    const { uses } = revoked.grant;
    if (options.json === true) io.stdout.write(`${jsonLine({ grantId, by, verified: false, uses })}\n`);
    else
      io.stdout.write(
        `${grantId} is revoked, recorded as ${claimed(by, paintFor(io.stdout))}. It was used ${uses} times before; that stays sent.\n`,
      );
    return 'ok';
  });
}

async function oneGrant({ db }: Store, id: string): Promise<GrantRecord> {
  const found = id.length < 5 ? [] : await findGrants(db, id.toLowerCase());
  const [first] = found;
  if (first === undefined)
    throw new CliFailure(
      'notFound',
      `No grant has the id ${safe(id)}. Nothing was changed.`,
      'List them with "holdpoint grant list --all".',
    );
  if (found.length === 1) return first;
  throw new CliFailure(
    'refused',
    `${safe(id)} fits several grants; nothing was changed. Give more characters:\n${found.map((grant) => `  ${grant.grantId}`).join('\n')}`,
  );
}
