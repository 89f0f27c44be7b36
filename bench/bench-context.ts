import type { Finding } from './finding';
import type { Scale } from './scale';
import type { Stack } from './stack';

/** What a measure works with. */
export interface BenchContext {
  readonly scale: Scale;
  /** The stack that measures share, warmed up; started when the first one needs it. */
  readonly stack: () => Promise<Stack>;
  /** Says how far a measure is. */
  readonly progress: (message: string) => void;
}

export interface Measure {
  readonly name: string;
  readonly title: string;
  run(context: BenchContext): Promise<readonly Finding[]>;
}
