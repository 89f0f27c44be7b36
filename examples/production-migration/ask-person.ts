import { createInterface } from 'node:readline/promises';

/** Whether somebody sits at this terminal who can be asked. */
export function hasPerson(): boolean {
  return process.stdin.isTTY && process.stdout.isTTY;
}

/** Asks until the answer is one; a closed terminal means no, as silence does. */
export async function askPerson(question: string): Promise<'allow' | 'deny'> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  // In a prompt the terminal hands Ctrl-C to the prompt.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const closed = new Promise<'deny'>((resolve) => terminal.once('close', () => resolve('deny')));
  try {
    for (;;) {
      const answer = await Promise.race([terminal.question(`${question} [allow/deny] `), closed]);
      const word = answer.trim().toLowerCase();
      if (word === 'allow' || word === 'a') return 'allow';
      if (word === 'deny' || word === 'd') return 'deny';
    }
  } finally {
    terminal.close();
  }
}
