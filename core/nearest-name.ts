/** Longer names are no slips of the pen, and comparing them costs the product of their lengths. */
const LONGEST_COMPARED = 64;

/**
 * The candidate that was probably meant by `name`: at most every third letter differs (case does not count, two swapped
 * neighbours count once). Null where nothing is that near; the first one among equals.
 */
export function nearestName(name: string, candidates: readonly string[]): string | null {
  if (name.length > LONGEST_COMPARED) return null;
  let best: string | null = null;
  let bound = Math.max(1, Math.floor(name.length / 3));
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) > bound) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bound || (distance === bound && best === null)) {
      best = candidate;
      bound = distance;
    }
  }
  return best;
}

/** Optimal string alignment: insertions, deletions, replacements and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        at(current, column - 1) + 1,
        at(last, column) + 1,
        at(last, column - 1) + (same ? 0 : 1),
        swapped ? at(beforeLast, column - 2) + 1 : Infinity,
      );
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return Number(row[column]);
}
