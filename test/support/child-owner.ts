import { startChild } from '../../worker/child-process';

/** Starts a child that owns the folder given as argument, prints the child's pid, and waits to be killed. */
async function main(): Promise<void> {
  const started = await startChild({
    command: 'sh',
    args: ['-c', 'exec sleep 60'],
    scratchDir: process.argv[2] ?? '',
  });
  if (!started.ok) throw new Error(started.detail);
  console.log(started.child.pid);
}

void main();
