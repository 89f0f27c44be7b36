import type { Output } from './io';

/** Words in colour or bold where the output is a terminal that shows it; plain words everywhere else. */
export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
}

/** `color` false: every function returns its text as it is. */
export function paintFor({ color }: Pick<Output, 'color'>): Paint {
  const wrap = (on: number, off: number) => (text: string) => (color ? `\u001b[${on}m${text}\u001b[${off}m` : text);
  return { bold: wrap(1, 22), dim: wrap(2, 22), red: wrap(31, 39), green: wrap(32, 39), yellow: wrap(33, 39) };
}
