const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** `2026-12-01 10:30:05 UTC (in 29 min)`. */
export function moment(atMs: number, nowMs: number): string {
  const when = `${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  return `${when} (${atMs >= nowMs ? `in ${duration(atMs - nowMs)}` : `${duration(nowMs - atMs)} ago`})`;
}

/** `29 min`, `2 h 5 min`, `45 s`: two units at most. */
function duration(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.round(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return two([Math.floor(ms / MINUTE_MS), 'min'], [Math.floor((ms % MINUTE_MS) / SECOND_MS), 's']);
  if (ms < DAY_MS) return two([Math.floor(ms / HOUR_MS), 'h'], [Math.floor((ms % HOUR_MS) / MINUTE_MS), 'min']);
  return two([Math.floor(ms / DAY_MS), 'd'], [Math.floor((ms % DAY_MS) / HOUR_MS), 'h']);
}

function two([large, unit]: [number, string], [small, smaller]: [number, string]): string {
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smaller}`;
}
