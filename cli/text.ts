import { showTerminal, showText, type Shown } from '../core/display';
import type { Conditions } from '../core/policy';

export { brief, count, duration, relative, validityText, when } from '../core/words';

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
