import type { Readable } from 'node:stream';
import { isatty } from 'node:tty';

/** What a command has of the world around it, so that tests run commands without a process. */
export interface Io {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly stdin: Readable;
  readonly stdout: Output;
  /** For progress, warnings and errors: stdout holds nothing but what was asked for. */
  readonly stderr: Output;
}

export interface Output {
  write(text: string): void;
  readonly isTty: boolean;
  readonly color: boolean;
}

/** The streams and the environment of this process. */
export function processIo(): Io {
  const { env, stdin, stdout, stderr } = process;
  return { env, cwd: process.cwd(), stdin, stdout: outputOf(stdout, env), stderr: outputOf(stderr, env) };
}

function outputOf(stream: NodeJS.WriteStream & { readonly fd: number }, env: NodeJS.ProcessEnv): Output {
  const isTty = isatty(stream.fd);
  return {
    write: (text) => {
      stream.write(text);
    },
    isTty,
    color: isTty && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb',
  };
}
