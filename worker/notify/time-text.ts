import { relative, when } from '../../core/words';

/** `2026-12-01 10:30:05 UTC (in 29 min)`. */
export function moment(atMs: number, nowMs: number): string {
  return `${when(atMs)} (${relative(atMs, nowMs)})`;
}
