import { cpus, loadavg, totalmem } from 'node:os';
import { sqliteEngine } from '../ledger/sqlite-engine';
import { TEMPORAL_CLI_VERSION } from '../worker/temporal-download';
import type { Finding } from './finding';

export interface Section {
  readonly title: string;
  readonly findings: readonly Finding[];
}

export interface Run {
  readonly startedAt: Date;
  readonly elapsedMs: number;
  readonly loadBefore: number;
  readonly quick: boolean;
  readonly sections: readonly Section[];
}

const NOT_MEASURED = [
  'PostgreSQL as the ledger of whole turns, and a production Temporal server on PostgreSQL: only the ledger alone.',
  'Several workers, and machines with a network between them: everything here shares one machine.',
  'Tools that take time, resource versions, previews and look-ups: each adds its own call to a tool.',
  'Signed decisions, payload encryption and webhooks: all are off.',
];

/** The report as Markdown. */
export async function report(run: Run): Promise<string> {
  const sections = run.sections.flatMap(({ title, findings }) => ['', `## ${title}`, '', ...table(findings)]);
  const barred = run.sections.flatMap(({ findings }) => findings).filter(({ met }) => met !== null);
  const met = barred.filter((finding) => finding.met === true).length;
  return [
    '# Measured',
    '',
    `\`npm run bench${run.quick ? ' -- --quick' : ''}\` writes this file. ${met} of ${barred.length} bars are met.`,
    '',
    ...(await machine(run)),
    '',
    'Both sides share a Temporal dev server on a file, take turns within one run, and have a worker process each; what',
    'is compared is a ratio. A ratio is the median over pairs of blocks that were measured one after the other, with the',
    'smallest and the largest in brackets; a value is the median of its blocks, likewise. Every result is checked: a turn',
    'that did not execute ends the run, and the tool server’s own count of effects must equal the results.',
    ...sections,
    '',
    '## Not measured',
    '',
    ...NOT_MEASURED.map((line) => `- ${line}`),
    '',
  ].join('\n');
}

async function machine({ startedAt, elapsedMs, loadBefore }: Run): Promise<readonly string[]> {
  const [cpu] = cpus();
  const { name, version } = await sqliteEngine();
  const load = `${loadBefore.toFixed(1)} before, ${(loadavg()[0] ?? 0).toFixed(1)} after`;
  return [
    `- ${startedAt.toISOString().slice(0, 16).replace('T', ' ')} UTC, ${Math.round(elapsedMs / 1_000)} s; load of the machine ${load}`,
    `- ${cpus().length} x ${cpu?.model.trim() ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform} ${process.arch}`,
    `- Node ${process.versions.node}; Temporal CLI ${TEMPORAL_CLI_VERSION}; SQLite ${version} (${name}), synchronous=FULL`,
  ];
}

function table(findings: readonly Finding[]): readonly string[] {
  const rows = findings.map(({ measure, holdpoint, compared, ratio, bar, met }) => {
    const spread = ratio === null ? '' : `${show(ratio.median)} (${show(ratio.min)}–${show(ratio.max)})`;
    const verdict = met === null ? '' : met ? 'met' : '**not met**';
    return `| ${[measure, holdpoint, compared ?? '', spread, bar ?? '', verdict].join(' | ')} |`;
  });
  return ['| measure | Holdpoint | compared | ratio | bar | |', '| --- | --- | --- | --- | --- | --- |', ...rows];
}

function show(ratio: number): string {
  return ratio.toFixed(2);
}
