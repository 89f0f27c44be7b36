import type { BindMode, Validity } from './policy';

const STRICTEST_FIRST: readonly BindMode[] = ['arguments', 'material', 'tool'];

/** The strictest of several ways to bind; `tool` only where all say so. None: `arguments`. */
export function strictestBind(modes: readonly BindMode[]): BindMode {
  return STRICTEST_FIRST.find((mode) => modes.includes(mode)) ?? 'arguments';
}

/**
 * The strictest of several validities: `once` before any window; of windows the fewest uses, the shortest time, and
 * every total that one of them states, the smallest of each. None: `once`.
 */
export function strictestValidity(validities: readonly Validity[]): Validity {
  return validities.reduce(stricter, validities[0] ?? { kind: 'once' });
}

function stricter(a: Validity, b: Validity): Validity {
  if (a.kind === 'once' || b.kind === 'once') return { kind: 'once' };
  const total = new Map(Object.entries(a.total));
  for (const [name, limit] of Object.entries(b.total)) total.set(name, Math.min(limit, total.get(name) ?? limit));
  return {
    kind: 'window',
    uses: smaller(a.uses, b.uses),
    durationMs: smaller(a.durationMs, b.durationMs),
    total: Object.fromEntries(total),
  };
}

/** Null is no limit. */
function smaller(a: number | null, b: number | null): number | null {
  if (a === null) return b;
  return b === null ? a : Math.min(a, b);
}
