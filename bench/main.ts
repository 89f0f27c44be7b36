import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { BenchContext, Measure } from './bench-context';
import { cleanUpWhenInterrupted } from './clean-up';
import { consolePages } from './measures/console';
import { gateway } from './measures/gateway';
import { histories } from './measures/histories';
import { kill } from './measures/kill';
import { latency } from './measures/latency';
import { peers } from './measures/peers';
import { ledger } from './measures/ledger';
import { throughput } from './measures/throughput';
import { waiting } from './measures/waiting';
import { report, type Section } from './report';
import { FULL, QUICK } from './scale';
import { sharedStack } from './shared-stack';

const MEASURES: readonly Measure[] = [
  latency,
  throughput,
  histories,
  ledger,
  kill,
  waiting,
  gateway,
  peers,
  consolePages,
];
const RESULTS = join(__dirname, '../../bench/RESULTS.md');

const HELP = `Measures Holdpoint against a bare Temporal workflow. Usage: npm run bench -- [options]

  --quick      fewer turns: a few minutes instead of half an hour, and rougher numbers
  --only NAME  only this measure, may be given again: ${MEASURES.map(({ name }) => name).join(', ')}
  --out FILE   where the report goes; by default bench/RESULTS.md for a full run, and the terminal for any other

Example: npm run bench -- --quick --only latency`;

interface Options {
  readonly quick: boolean;
  readonly measures: readonly Measure[];
  readonly out: string | undefined;
}

function readOptions(): Options | 'help' {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      out: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const unknown = values.only.find((name) => !MEASURES.some((measure) => measure.name === name));
  if (unknown !== undefined) throw new TypeError(`There is no measure ${unknown}.\n\n${HELP}`);
  const isPartial = values.quick || values.only.length > 0;
  return {
    quick: values.quick,
    measures: MEASURES.filter(({ name }) => values.only.length === 0 || values.only.includes(name)),
    out: values.out ?? (isPartial ? undefined : RESULTS),
  };
}

async function measureAll({ quick, measures }: Options): Promise<readonly Section[]> {
  const sections: Section[] = [];
  let name = '';
  const progress = (message: string): void => console.error(`${name}: ${message}`);
  const scale = quick ? QUICK : FULL;
  const shared = sharedStack(scale, progress);
  const context: BenchContext = { scale, stack: shared.get, progress };
  try {
    for (const measure of measures) {
      ({ name } = measure);
      sections.push({ title: measure.title, findings: await measure.run(context) });
      await shared.check();
    }
  } finally {
    await shared.close();
  }
  return sections;
}

async function main(): Promise<void> {
  const options = readOptions();
  if (options === 'help') {
    console.log(HELP);
    return;
  }
  cleanUpWhenInterrupted();
  const startedAt = new Date();
  const [loadBefore = 0] = loadavg();
  const sections = await measureAll(options);
  const elapsedMs = Date.now() - startedAt.getTime();
  const text = await report({ startedAt, elapsedMs, loadBefore, quick: options.quick, sections });
  console.log(text);
  if (options.out !== undefined) await writeFile(options.out, text);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
