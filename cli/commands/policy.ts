import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import type { Policy } from '../../core/policy';
import { parsePolicyFile } from '../../core/policy-file';
import type { Trust } from '../../ledger/ledger';
import { activePolicyText } from '../../ledger/queries';
import { describeCommand, withJson, withState, type Cli } from '../command';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import type { Io } from '../io';
import { paintFor } from '../paint';
import { defaultTrustOf, findPlace, withLedger, type Place, type PlaceOptions } from '../place';
import { lostKeyWarnings, peopleChanges, policyText, problemText, ruleChanges } from '../policy-text';
import { claimed } from '../reviewer';
import { probeServers } from '../probe-servers';
import { withProgress } from '../progress';
import { count, jsonBlock, jsonLine, safe, safeBlock, when } from '../text';
import { errorCode } from '../error-code';

interface Options extends PlaceOptions {
  readonly as?: string;
  readonly against?: 'active';
  readonly probe?: boolean;
  readonly text?: boolean;
  readonly json?: boolean;
}

export function addPolicy(program: Command, { io, end }: Cli): void {
  const policy = program
    .command('policy')
    .description('Check, apply and show the policy: who may call what, and what asks whom');
  describeCommand(withJson(withState(policy.command('check'))), {
    summary: 'Read a policy file strictly and say what it means. Changes nothing.',
    examples: ['holdpoint policy check policy.yaml', 'holdpoint policy check policy.yaml --against active'],
    exits: ['notFound', 'unreachable'],
  })
    .argument('<file>', 'the policy file')
    .addOption(new Option('--against <which>', 'also say what would change').choices(['active']))
    .action((file: string, options: Options) => end(check(io, file, options)));
  describeCommand(withJson(withState(policy.command('apply'))), {
    summary: 'Make a policy file the active policy of every process on this ledger.',
    examples: ['holdpoint policy apply policy.yaml', 'holdpoint policy apply policy.yaml --as eli --no-probe'],
    exits: ['notFound', 'unreachable'],
  })
    .argument('<file>', 'the policy file')
    .option('--as <name>', 'who applies it; kept on record (default: your user name)')
    .option('--no-probe', 'do not ask the servers for their tools first')
    .action((file: string, options: Options) => end(apply(io, file, options)));
  describeCommand(withJson(withState(policy.command('show'))), {
    summary: 'Show the active policy.',
    examples: ['holdpoint policy show', 'holdpoint policy show --text > policy.yaml'],
    exits: ['notFound', 'unreachable'],
  })
    .option('--text', 'print the file as it was applied')
    .action((options: Options) => end(show(io, options)));
}

async function check(io: Io, file: string, options: Options): Promise<ExitName> {
  const { parsed } = await readPolicy(io, file);
  const against = parsed.ok && options.against !== undefined ? await compare(io, parsed.policy, options) : null;
  if (options.json === true) {
    const { warnings } = against ?? {};
    io.stdout.write(`${jsonBlock({ ...parsed, ...(warnings !== undefined && { warnings }) })}\n`);
  } else if (parsed.ok) {
    warn(io, against?.warnings ?? []);
    io.stdout.write(`${safe(file)} is a policy: ${policyText(parsed.policy)}\n${against?.text ?? ''}`);
  } else io.stderr.write(`${parsed.problems.map(problemText).join('\n')}\n`);
  return parsed.ok ? 'ok' : 'refused';
}

/** What would change if this policy took the place of the active one. */
async function compare(io: Io, policy: Policy, options: Options) {
  const place = await findPlace(io, options);
  const active = await withLedger(place, (ledger) => ledger.activePolicy());
  const before = active?.policy ?? null;
  const name = active === null ? 'no policy, since none is active' : `the active policy, ${active.version}`;
  return {
    text: `Against ${name}:\n${changesText(io, before, policy)}\n`,
    warnings: lostKeyWarnings(before, { policy, trust: trustAt(place, policy) }),
  };
}

async function readPolicy({ cwd }: Io, file: string) {
  const text = await readFile(resolve(cwd, file), 'utf8').catch((error: unknown) => {
    const why = errorCode(error) === 'ENOENT' ? 'is not there' : 'cannot be read';
    throw new CliFailure(
      'notFound',
      `The policy file ${safe(file)} ${why}. Nothing was changed.`,
      'Correct the path, or make one with "holdpoint init".',
    );
  });
  return { text, parsed: parsePolicyFile(text, file) };
}

async function apply(io: Io, file: string, options: Options): Promise<ExitName> {
  const { text, parsed } = await readPolicy(io, file);
  if (!parsed.ok) {
    io.stderr.write(`${parsed.problems.map(problemText).join('\n')}\n`);
    throw new CliFailure('refused', `${count(parsed.problems.length, 'problem')}; the active policy is unchanged.`);
  }
  const place = await findPlace(io, options);
  const by = options.as ?? userInfo().username;
  const { policy } = parsed;
  const probed =
    options.probe === false
      ? []
      : await withProgress(io, 'asking the servers for their tools', probeServers(policy, io.env));
  const { before, applied } = await withLedger(
    place,
    async (ledger) => ({
      before: await ledger.activePolicy(),
      applied: await ledger.applyPolicy({ text, fileName: file, policy, by }),
    }),
    { create: true },
  );
  const warnings = [...probed, ...lostKeyWarnings(before?.policy ?? null, { policy, trust: trustAt(place, policy) })];
  warn(io, warnings);
  if (options.json === true) io.stdout.write(`${jsonLine({ ...applied, by, warnings })}\n`);
  else if (applied.changed)
    io.stdout.write(appliedText(io, { file, by, version: applied.version, before: before?.policy ?? null, policy }));
  else io.stdout.write(`Policy ${applied.version} is this very file already; nothing changed.\n`);
  return 'ok';
}

function trustAt(place: Place, { trust }: Policy): Trust {
  return trust ?? defaultTrustOf(place);
}

function warn({ stderr }: Io, warnings: readonly string[]): void {
  const paint = paintFor(stderr);
  for (const warning of warnings) stderr.write(`${paint.yellow('warning:')} ${warning}.\n`);
}

/** What applying one policy after another changes, a line each. */
function changesText({ stdout }: Io, before: Policy | null, next: Policy): string {
  const paint = paintFor(stdout);
  const changes = [...peopleChanges(before, next, paint), ...ruleChanges(before, next, paint)];
  return changes.length === 0 ? '  no rule and no person changed' : changes.join('\n');
}

interface Applied {
  readonly file: string;
  readonly by: string;
  readonly version: number;
  readonly before: Policy | null;
  readonly policy: Policy;
}

function appliedText(io: Io, { file, by, version, before, policy }: Applied): string {
  const open =
    before === null
      ? ''
      : 'Open requests keep their reviewers and deadlines; what was allowed and not sent is judged by the new rules.\n';
  return `Policy ${version} is active: ${safe(file)}, recorded as applied by ${claimed(by, paintFor(io.stdout))}.\n${changesText(io, before, policy)}\n${open}`;
}

async function show(io: Io, options: Options): Promise<ExitName> {
  const place = await findPlace(io, options);
  return withLedger<ExitName>(place, async (ledger) => {
    const active = await ledger.activePolicy();
    const file = await activePolicyText(ledger.store.db);
    if (active === null || file === null)
      throw new CliFailure(
        'notFound',
        'No policy is active, so nothing may run.',
        'Make one with "holdpoint init", then "holdpoint policy apply FILE".',
      );
    const { version, digest, appliedBy, appliedAtMs, policy, trust } = active;
    if (options.text === true) io.stdout.write(io.stdout.isTty ? safeBlock(file.text) : file.text);
    else if (options.json === true)
      io.stdout.write(
        `${jsonBlock({ version, digest, fileName: file.fileName, appliedBy, appliedAtMs, trust, policy })}\n`,
      );
    else
      io.stdout.write(
        `Policy ${version} (${safe(file.fileName)}), applied ${when(appliedAtMs)} by ${safe(appliedBy)}: ${policyText(policy)}\n`,
      );
    return 'ok';
  });
}
