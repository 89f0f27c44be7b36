import type { OnceStep, OnStep } from './once';

/**
 * The test kit for tool servers: ends this process with SIGKILL, as a crash would, when `once` reaches `step`. Give it
 * to an adapter as `onStep`, start the server anew, and ask it by its look-up: up to `recorded` nothing may be there,
 * from `committed` on the effect and the operation both are.
 */
export function killAt(step: OnceStep): OnStep {
  return (reached) => {
    if (reached === step) process.kill(process.pid, 'SIGKILL');
  };
}
