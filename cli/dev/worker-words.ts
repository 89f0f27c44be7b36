import { parseStrictJson } from '../../core/json';
import type { ChildExit } from '../../worker/child-process';

/** Pino's numbers: a warning and everything worse. */
const WARNING = 40;

/** How a part of the stack ended, for a terminal: what it said of troubles, in words; the rest is in its log. */
export function endedText({ code, signal }: ChildExit, output: string, name = 'worker'): string {
  const how = signal === null ? `exit code ${code ?? 'unknown'}` : signal;
  const said = output.split('\n').flatMap(troubleOf);
  return [`The ${name} has ended (${how}) and is started again; see ${name}.log.`, ...said].join('\n');
}

/** A line of the log says its level; what is no such line was meant for people. */
function troubleOf(line: string): readonly string[] {
  const json = parseStrictJson(line);
  const record = json.ok ? json.value : null;
  if (typeof record !== 'object' || record === null || !('level' in record) || !('msg' in record))
    return line === '' ? [] : [`  ${line}`];
  const { level, msg, detail } = record;
  if (typeof level !== 'number' || level < WARNING || typeof msg !== 'string') return [];
  return [`  ${msg}${typeof detail === 'string' ? `: ${detail}` : ''}`];
}
