import { spreadOf, type Spread } from './statistics';

/** One line of the report. */
export interface Finding {
  readonly measure: string;
  readonly holdpoint: string;
  /** The bare workflow, or whatever else the first column is compared with; null where the bar is absolute. */
  readonly compared: string | null;
  readonly ratio: Spread | null;
  /** What has to be reached, in words; null where a line is for orientation only. */
  readonly bar: string | null;
  readonly met: boolean | null;
}

/** A bar on the median of ratios. */
export function atMost(limit: number, ratio: Spread): Pick<Finding, 'ratio' | 'bar' | 'met'> {
  return { ratio, bar: `≤ ${limit}x`, met: ratio.median <= limit };
}

export function atLeast(limit: number, ratio: Spread): Pick<Finding, 'ratio' | 'bar' | 'met'> {
  return { ratio, bar: `≥ ${limit}x`, met: ratio.median >= limit };
}

/** No bar: for orientation. */
export function noBar(ratio: Spread | null): Pick<Finding, 'ratio' | 'bar' | 'met'> {
  return { ratio, bar: null, met: null };
}

export function ms(value: number): string {
  return `${value.toFixed(value < 100 ? 1 : 0)} ms`;
}

export function perSecond(value: number): string {
  return `${value.toFixed(value < 100 ? 1 : 0)}/s`;
}

/** The median of some values and how far they lie apart, each as `show` writes it. */
export function spreadText(values: readonly number[], show: (value: number) => string): string {
  const { median, min, max } = spreadOf(values);
  return `${show(median)} (${show(min)}–${show(max)})`;
}

export function beside(
  own: readonly number[],
  compared: readonly number[],
  show: (value: number) => string,
): Pick<Finding, 'holdpoint' | 'compared'> {
  return { holdpoint: spreadText(own, show), compared: spreadText(compared, show) };
}
