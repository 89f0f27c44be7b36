import { rateOf } from './rounds';
import type { Scale } from './scale';
import { startStack, type Stack } from './stack';

const CALLERS = 16;

export interface SharedStack {
  readonly get: () => Promise<Stack>;
  /** Compares the tool server's count with the results so far; nothing where no stack was needed. */
  readonly check: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A stack that is started and warmed up when a measure first needs it. */
export function sharedStack({ warmUpTurns }: Scale, progress: (message: string) => void): SharedStack {
  let starting: Promise<Stack> | undefined;
  const start = async (): Promise<Stack> => {
    progress('starting Temporal, two workers and the tool server');
    const stack = await startStack();
    progress('warming up');
    await warmUp(stack, warmUpTurns).catch(async (error: unknown) => {
      await stack.close();
      throw error;
    });
    return stack;
  };
  return {
    get: () => (starting ??= start()),
    check: async () => (await starting)?.checkEffects(),
    close: async () => (await starting?.catch(() => undefined))?.close(),
  };
}

async function warmUp(stack: Stack, turns: number): Promise<void> {
  for (const subject of [stack.holdpoint, stack.bare({ by: 'update', opens: true })]) {
    await rateOf(turns, CALLERS, async () => {
      const turn = await subject.open();
      await Promise.all([turn.effectNs(), turn.decide()]);
      await subject.runFree();
    });
  }
}
