import type { BenchContext, Measure } from '../bench-context';
import { atLeast, beside, perSecond, type Finding } from '../finding';
import { interleave, rateOf } from '../rounds';
import { ratios } from '../statistics';
import type { Subject } from '../subject';

const CALLERS = 16;

/** Whole turns, many at once; a block of the one side, then a block of the other. */
export const throughput: Measure = {
  name: 'throughput',
  title: `Turns a second, ${CALLERS} at once`,
  async run({ scale, stack, progress }: BenchContext): Promise<readonly Finding[]> {
    const shared = await stack();
    const bare = shared.bare({ by: 'update', opens: false });
    const blocks = async (work: (subject: Subject) => Promise<unknown>) => {
      const block = (subject: Subject) => () => rateOf(scale.throughputTurns, CALLERS, () => work(subject));
      const [above = [], below = []] = await interleave([block(shared.holdpoint), block(bare)], scale.throughputBlocks);
      return { above, below };
    };
    const asked = await blocks(askedTurn);
    progress('turns with one approval measured');
    const free = await blocks((subject) => subject.runFree());
    return [
      {
        measure: 'turns with one approval',
        ...beside(asked.above, asked.below, perSecond),
        ...atLeast(0.7, ratios(asked.above, asked.below)),
      },
      {
        measure: 'turns without approval',
        ...beside(free.above, free.below, perSecond),
        ...atLeast(0.6, ratios(free.above, free.below)),
      },
    ];
  },
};

async function askedTurn(subject: Subject): Promise<void> {
  const turn = await subject.open();
  await Promise.all([turn.effectNs(), turn.decide()]);
}
