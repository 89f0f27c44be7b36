import { showText } from '../../core/display';

/** Names of labels with their values: rule, server, tool, answer, channel, outcome or cause, and nothing of a person. */
export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
  /** `_bucket`, `_sum` or `_count` of a histogram; nothing otherwise. */
  readonly suffix?: string;
}

export interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** One sentence: what it counts, and in which unit. */
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** The media type of the text format, by which a scraper knows how to read it. */
export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Families in the text format of Prometheus 0.0.4; each name stands once, with its help and type before its samples. */
export function prometheusText(families: readonly Family[]): string {
  return families.map(familyText).join('');
}

function familyText({ name, type, help, samples }: Family): string {
  const lines = samples.map(({ labels, value, suffix = '' }) => `${name}${suffix}${labelsText(labels)} ${value}`);
  return [`# HELP ${name} ${help.replace(/\\/g, '\\\\')}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n');
}

/** A name from outside is shown as everywhere else, so that no label acts upon whoever reads it in a plot. */
function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(showText(value))}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');
}
