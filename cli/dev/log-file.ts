import { createWriteStream } from 'node:fs';

/** Takes the lines of a process into a file, from its beginning; a disk that is full costs the log, not the process. */
export function logFile(path: string): (line: string) => void {
  const stream = createWriteStream(path, { mode: 0o600 });
  stream.on('error', () => undefined);
  return (line) => {
    stream.write(`${line}\n`);
  };
}
