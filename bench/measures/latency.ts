import type { BenchContext, Measure } from '../bench-context';
import { msBetween, nowNs } from '../clock';
import { atMost, beside, ms, noBar, type Finding } from '../finding';
import { interleave, timeDecision, type DecisionTimes } from '../rounds';
import { percentile, ratios, type Spread } from '../statistics';
import type { Subject } from '../subject';

interface Sample extends DecisionTimes {
  readonly visibleMs: number;
}

/** One turn after the other, three sides in turns. */
export const latency: Measure = {
  name: 'latency',
  title: 'One turn at a time',
  async run({ scale, stack, progress }: BenchContext): Promise<readonly Finding[]> {
    const { holdpoint, bare } = await stack();
    const sides = [holdpoint, bare({ by: 'update', opens: true }), bare({ by: 'signal', opens: true })].map(
      (subject) => () => sample(subject),
    );
    const blocks: Blocks = { holdpoint: [], update: [], signal: [] };
    for (let block = 1; block <= scale.latencyBlocks; block += 1) {
      const [own = [], update = [], signal = []] = await interleave(sides, scale.latencyRounds);
      blocks.holdpoint.push(own);
      blocks.update.push(update);
      blocks.signal.push(signal);
      progress(`block ${block} of ${scale.latencyBlocks}`);
    }
    return LINES.map((line) => findingOf(blocks, line));
  },
};

async function sample(subject: Subject): Promise<Sample> {
  const startNs = nowNs();
  const turn = await subject.open();
  const visibleMs = msBetween(startNs, nowNs());
  return { visibleMs, ...(await timeDecision(turn)) };
}

type Side = 'update' | 'signal';
type Blocks = Readonly<Record<'holdpoint' | Side, (readonly Sample[])[]>>;

interface Line {
  readonly measure: string;
  readonly side: Side;
  readonly value: keyof Sample;
  readonly p: number;
  readonly bar: (ratio: Spread) => Pick<Finding, 'ratio' | 'bar' | 'met'>;
}

const EFFECT = 'decision (update) → effect at the tool; bare: update → activity start';
const READABLE = 'decision (update) → outcome readable; bare: update → activity → result';
const SIGNAL = 'decision (update) → outcome readable; bare: *signal* → activity → result';
const VERDICT = 'decision (update) → its verdict; bare: update → its answer';
const VISIBLE = 'start → approval request visible; bare: update-with-start that awaits an activity';

const LINES: readonly Line[] = [
  { measure: EFFECT, side: 'update', value: 'effectMs', p: 0.5, bar: (ratio) => atMost(1.3, ratio) },
  { measure: EFFECT, side: 'update', value: 'effectMs', p: 0.95, bar: noBar },
  { measure: READABLE, side: 'update', value: 'readableMs', p: 0.5, bar: (ratio) => atMost(1.2, ratio) },
  { measure: READABLE, side: 'update', value: 'readableMs', p: 0.95, bar: (ratio) => atMost(1.5, ratio) },
  { measure: SIGNAL, side: 'signal', value: 'readableMs', p: 0.5, bar: (ratio) => atMost(1, ratio) },
  { measure: VERDICT, side: 'update', value: 'verdictMs', p: 0.5, bar: noBar },
  { measure: VISIBLE, side: 'update', value: 'visibleMs', p: 0.5, bar: (ratio) => atMost(1.3, ratio) },
  { measure: VISIBLE, side: 'update', value: 'visibleMs', p: 0.95, bar: noBar },
];

function findingOf(blocks: Blocks, { measure, side, value, p, bar }: Line): Finding {
  const each = (samples: readonly (readonly Sample[])[]): number[] =>
    samples.map((block) =>
      percentile(
        block.map((entry) => entry[value]),
        p,
      ),
    );
  const [own, bare] = [each(blocks.holdpoint), each(blocks[side])];
  return { measure: `${measure}, p${p * 100}`, ...beside(own, bare, ms), ...bar(ratios(own, bare)) };
}
