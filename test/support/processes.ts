import { execFileSync } from 'node:child_process';

/** The command lines of all processes whose command line or environment-free arguments contain `text`. */
export function processesWith(text: string): readonly string[] {
  const lines = execFileSync('ps', ['-A', '-ww', '-o', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  return lines.filter((line) => line.includes(text) && !line.includes('ps -A'));
}
