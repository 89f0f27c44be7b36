import { showTerminal, showText, type Shown } from '../core/display';
import type { Conditions, Validity } from '../core/policy';
import { unreachable } from '../core/unreachable';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Untrusted text on one line. */
export const safe = showTerminal;

/** Untrusted text of several lines: nothing hidden. */
export function safeBlock(text: string): Shown {
  return showText(text, 'block');
}

/** What was made safe, each line behind a rule that it cannot draw itself out of. */
export function gutter(text: Shown, indent = '  '): string {
  return text
    .split('\n')
    .map((line) => `${indent}│ ${line}`)
    .join('\n');
}

/** JSON for programs, in ASCII: what a terminal would act upon is an escape that every reader undoes. */
export function jsonLine(value: unknown): string {
  return ascii(JSON.stringify(value));
}

/** JSON for programs and for eyes. */
export function jsonBlock(value: unknown): string {
  return ascii(JSON.stringify(value, null, 2));
}

function ascii(json: string): string {
  return json.replace(/[^\x20-\x7e\n]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** `2026-12-01 10:30:05 UTC`: one form, the same for everybody who looks. */
export function when(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** `29 min`, `2 h 5 min`, `45 s`: two units at most. */
export function duration(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.round(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return two([Math.floor(ms / MINUTE_MS), 'min'], [Math.floor((ms % MINUTE_MS) / SECOND_MS), 's']);
  if (ms < DAY_MS) return two([Math.floor(ms / HOUR_MS), 'h'], [Math.floor((ms % HOUR_MS) / MINUTE_MS), 'min']);
  return two([Math.floor(ms / DAY_MS), 'd'], [Math.floor((ms % DAY_MS) / HOUR_MS), 'h']);
}

function two([large, unit]: [number, string], [small, smaller]: [number, string]): string {
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smaller}`;
}

/** `in 29 min`, `4 s ago`. */
export function relative(atMs: number, nowMs: number): string {
  return atMs >= nowMs ? `in ${duration(atMs - nowMs)}` : `${duration(nowMs - atMs)} ago`;
}

/** What an allowed request would permit, in words. */
export function validityText(validity: Validity): string {
  switch (validity.kind) {
    case 'once':
      return 'this one operation, once';
    case 'window': {
      const uses = validity.uses === null ? 'any number of uses' : `up to ${validity.uses} uses`;
      const time = validity.durationMs === null ? '' : ` within ${duration(validity.durationMs)}`;
      const sums = Object.entries(validity.total).map(([field, limit]) => `, ${safe(field)} up to ${limit} in all`);
      return `${uses}${time}${sums.join('')}`;
    }
    default:
      return unreachable(validity);
  }
}

/** Which later calls a window covers. */
export const BIND_TEXT = {
  arguments: 'of calls with exactly these arguments',
  material: 'of calls with the same material fields',
  tool: 'of ANY call of this tool by this requester',
} as const;

/** `environment is production, amount above 100`; nothing where there is no condition. */
export function conditionsText(conditions: Conditions): string {
  return Object.entries(conditions)
    .map(([field, condition]) => {
      const values = 'values' in condition ? condition.values : [condition.value];
      return `${safe(field)} ${condition.op} ${values.map((value) => safe(String(value))).join(' | ')}`;
    })
    .join(', ');
}

/** Rows under their headings, in columns; cells are safe already. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join('  ')
      .trimEnd();
  return [line(headings.map((heading) => heading.toUpperCase())), ...rows.map(line)].join('\n');
}

function widthOf(text: string): number {
  return Array.from(text).length;
}

/** `1 request`, `2 requests`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** The first characters of a digest: enough to compare by eye, never a proof. */
export function brief(digest: string): string {
  return digest.replace(/^sha256:/, '').slice(0, 12);
}
