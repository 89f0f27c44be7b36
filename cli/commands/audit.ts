import { createReadStream, existsSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import { z } from 'zod';
import { parseStrictJson } from '../../core/json';
import { exportAudit, verifyAuditExport } from '../../ledger/audit-export';
import { verifyAudit, type AuditReport, type VerifyOptions } from '../../ledger/audit-verify';
import type { Checkpoint } from '../../ledger/checkpoint';
import { describeCommand, withJson, withState, type Cli } from '../command';
import type { ExitName } from '../exit-codes';
import { CliFailure } from '../failure';
import type { Io } from '../io';
import { paintFor } from '../paint';
import { findPlace, withLedger, type PlaceOptions } from '../place';
import { withProgress } from '../progress';
import { publicKeys } from '../public-keys';
import { brief, count, jsonBlock, safe } from '../text';

interface Options extends PlaceOptions {
  readonly key?: readonly string[];
  readonly checkpoints?: string;
  readonly out?: string;
  readonly json?: boolean;
}

export function addAudit(program: Command, { io, end }: Cli): void {
  const audit = program.command('audit').description('Check and export the record of everything that happened');
  describeCommand(withJson(withState(audit.command('verify'))), {
    summary:
      'Check the hash chain of the audit and its signed checkpoints: finds what was changed, removed, moved or cut off; then that each request, decision, grant, operation and policy of the ledger is what the audit says.',
    examples: [
      'holdpoint audit verify',
      'holdpoint audit verify audit.jsonl --key ed25519:… --checkpoints kept-elsewhere.jsonl',
    ],
    exits: ['notFound', 'unreachable'],
  })
    .argument('[export]', 'a file of "audit export" instead of the ledger')
    .option('--key <key>', "ed25519:… or a PEM file; may be given several times (default: the worker's own)", collect)
    .option(
      '--checkpoints <file>',
      'checkpoints that were kept elsewhere, one JSON object a line: only they find a rewritten chain',
    )
    .action((file: string | undefined, options: Options) => end(verify(io, file, options)));
  describeCommand(withState(audit.command('export')), {
    summary: 'Write the whole audit as lines of JSON, with its checkpoints: can be verified without the ledger.',
    examples: ['holdpoint audit export > audit.jsonl', 'holdpoint audit export --out audit.jsonl'],
    exits: ['unreachable'],
  })
    .option('--out <file>', 'where it goes; an existing file is not replaced (default: stdout)')
    .action((options: Options) => end(exportTo(io, options)));
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

async function verify(io: Io, file: string | undefined, options: Options): Promise<ExitName> {
  const place = file === undefined ? await findPlace(io, options) : null;
  const given = await keptCheckpoints(io, options.checkpoints);
  const asked: VerifyOptions = { publicKeys: await publicKeys(io, place, options.key ?? []), checkpoints: given };
  const work =
    place === null ? verifyFile(io, file ?? '', asked) : withLedger(place, ({ store }) => verifyAudit(store, asked));
  const report = await withProgress(io, 'reading the audit', work);
  if (options.json === true) io.stdout.write(`${jsonBlock(report)}\n`);
  else io.stdout.write(`${reportText(io, report)}\n`);
  return report.ok ? 'ok' : 'refused';
}

async function verifyFile({ cwd }: Io, file: string, options: VerifyOptions): Promise<AuditReport> {
  const path = resolve(cwd, file);
  if (!existsSync(path)) throw new CliFailure('notFound', `There is no file ${safe(file)}.`);
  return verifyAuditExport(createInterface({ input: createReadStream(path), crlfDelay: Infinity }), options);
}

const checkpointLine = z.object({
  seq: z.int(),
  hash: z.string(),
  at: z.int(),
  keyId: z.string(),
  signature: z.string(),
});

async function keptCheckpoints({ cwd }: Io, file: string | undefined): Promise<readonly Checkpoint[]> {
  if (file === undefined) return [];
  const text = await readFile(resolve(cwd, file), 'utf8').catch(() => null);
  if (text === null) throw new CliFailure('notFound', `The file ${safe(file)} cannot be read.`);
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line, index) => {
    const json = parseStrictJson(line);
    const parsed = checkpointLine.safeParse(json.ok ? json.value : null);
    if (parsed.success) return parsed.data;
    throw new CliFailure(
      'refused',
      `${safe(file)}:${index + 1} is no checkpoint: { seq, hash, at, keyId, signature }.`,
    );
  });
}

function reportText({ stdout }: Io, { ok, records, last, problems, checkpoints, rows }: AuditReport): string {
  const paint = paintFor(stdout);
  const signed = `${count(checkpoints.signed, 'checkpoint')} with a valid signature`;
  const unknown =
    checkpoints.keyUnknown === 0
      ? ''
      : `; ${count(checkpoints.keyUnknown, 'checkpoint')} not checked: their key was not given`;
  if (ok) {
    const unsigned =
      checkpoints.signed === 0
        ? '\nWithout a signed checkpoint that was kept elsewhere, a chain rewritten as a whole looks the same.'
        : '';
    return `${paint.green('The audit holds')}: ${count(records, 'record')}, the last one #${last.seq} ${brief(last.hash)}…; ${signed}${unknown}.${comparedText(rows)}${unsigned}`;
  }
  const lines = [
    ...problems.map(({ seq, what, detail }) => `  #${seq}  ${what}: ${safe(detail)}`),
    ...(rows?.problems ?? []).map(({ row, detail }) => `  ${safe(row)}: ${safe(detail)}`),
  ];
  const inRows = rows === null ? '' : `, ${count(rows.problems.length, 'problem')} in ${count(rows.compared, 'row')}`;
  return `${paint.red('The audit does NOT hold')}: ${count(problems.length, 'problem')} in ${count(records, 'record')}${inRows}${unknown}.\n${lines.join('\n')}`;
}

function comparedText(rows: AuditReport['rows']): string {
  if (rows === null) return '';
  const tables = 'requests, decisions, grants, operations and policies';
  return `\nThe rows hold: ${count(rows.compared, 'row')} of ${tables} compared with the audit, none differs.`;
}

async function exportTo(io: Io, options: Options): Promise<ExitName> {
  const place = await findPlace(io, options);
  return withLedger<ExitName>(place, async ({ store }) => {
    if (options.out === undefined) {
      for await (const line of exportAudit(store)) io.stdout.write(`${line}\n`);
      return 'ok';
    }
    const file = await open(resolve(io.cwd, options.out), 'wx').catch(() => {
      throw new CliFailure(
        'refused',
        `${safe(options.out ?? '')} exists already or cannot be written. Nothing was exported.`,
        'Choose another file.',
      );
    });
    try {
      for await (const line of exportAudit(store)) await file.write(`${line}\n`);
    } finally {
      await file.close();
    }
    io.stderr.write(`The audit is in ${safe(options.out)}.\n`);
    return 'ok';
  });
}
