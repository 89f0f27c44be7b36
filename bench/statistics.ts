/** The middle of some ratios, and how far they lie apart. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** The value that a share `p` of the values does not exceed, by nearest rank. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(Math.ceil(p * sorted.length) - 1, 0)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = Number.NaN, high = low] = sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1);
  return (low + high) / 2;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** The ratio of each pair of blocks: what both sides of a pair had in common, such as a busy machine, cancels out. */
export function ratios(above: readonly number[], below: readonly number[]): Spread {
  return spreadOf(above.map((value, index) => value / (below[index] ?? Number.NaN)));
}
