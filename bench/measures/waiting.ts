import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext, Measure } from '../bench-context';
import { atMost, beside, ms, noBar, perSecond, type Finding } from '../finding';
import { residentMb } from '../processes';
import { interleave, rateOf, timeDecision, type DecisionTimes } from '../rounds';
import { startStack, type Stack } from '../stack';
import { percentile, ratios } from '../statistics';
import type { Subject, WaitingTurn } from '../subject';

const STARTERS = 16;
const FILL_BLOCKS = 10;
const SETTLE_MS = 10_000;

/** A side with the turns that it has waiting, the oldest first: the workers' caches hold only the newest. */
interface Crowd {
  readonly subject: Subject;
  readonly waiting: WaitingTurn[];
}

/** Thousands of turns that wait, on a stack of their own; the same measures beside it on one where none waits. */
export const waiting: Measure = {
  name: 'waiting',
  title: 'Many turns waiting (500 workflows in each worker’s cache)',
  async run(context: BenchContext): Promise<readonly Finding[]> {
    const quiet = await context.stack();
    const crowded = await startStack();
    try {
      const own = crowdOf(crowded.holdpoint);
      const bare = crowdOf(crowded.bare({ by: 'update', opens: false }));
      const findings = [
        await fill(context, own, bare),
        await memory(crowded, context),
        ...(await latencies(context, { quiet, own, bare })),
        await decisions(context, own, bare),
      ];
      await crowded.checkEffects();
      return findings;
    } finally {
      await crowded.close();
    }
  },
};

function crowdOf(subject: Subject): Crowd {
  return { subject, waiting: [] };
}

async function fill({ scale, progress }: BenchContext, own: Crowd, bare: Crowd): Promise<Finding> {
  const block = (crowd: Crowd) => () =>
    rateOf(scale.waitingTurns / FILL_BLOCKS, STARTERS, async () => crowd.waiting.push(await crowd.subject.open()));
  const rates: [number[], number[]] = [[], []];
  for (let done = 1; done <= FILL_BLOCKS; done += 1) {
    const [above = [], below = []] = await interleave([block(own), block(bare)], 1);
    rates[0].push(...above);
    rates[1].push(...below);
    progress(`${own.waiting.length} of ${scale.waitingTurns} turns wait`);
  }
  return {
    measure: `starting ${scale.waitingTurns} turns, ${STARTERS} at once; bare: without an activity or a timer`,
    ...beside(rates[0], rates[1], perSecond),
    ...noBar(ratios(rates[0], rates[1])),
  };
}

async function memory({ bareWorker, holdpointWorker }: Stack, { scale, progress }: BenchContext): Promise<Finding> {
  progress('the workers come to rest');
  await delay(SETTLE_MS);
  const [own, bare] = [await residentMb(holdpointWorker()), await residentMb(bareWorker)];
  return {
    measure: `memory of the worker while ${scale.waitingTurns} turns wait (RSS)`,
    holdpoint: `${own.toFixed(0)} MB`,
    compared: `${bare.toFixed(0)} MB`,
    ...atMost(1.3, ratios([own], [bare])),
  };
}

interface Sides {
  readonly quiet: Stack;
  readonly own: Crowd;
  readonly bare: Crowd;
}

/** Each side among the waiting turns, against itself where none waits. */
async function latencies({ scale, progress }: BenchContext, { quiet, own, bare }: Sides): Promise<readonly Finding[]> {
  const bareAlone = quiet.bare({ by: 'update', opens: false });
  const fresh = (subject: Subject) => async () => timeDecision(await subject.open());
  const oldest = (crowd: Crowd) => () => timeDecision(takeOldest(crowd));
  const tasks = [fresh(quiet.holdpoint), fresh(own.subject), oldest(own), fresh(bareAlone), oldest(bare)];
  const p50s: number[][] = tasks.map(() => []);
  for (let block = 1; block <= scale.waitingBlocks; block += 1) {
    const samples = await interleave(tasks, scale.waitingRounds);
    samples.forEach((each, index) => p50s[index]?.push(percentile(each.map(readable), 0.5)));
    progress(`decisions among waiting turns: block ${block} of ${scale.waitingBlocks}`);
  }
  const [none = [], newest = [], old = [], bareNone = [], bareOld = []] = p50s;
  const measure = 'decision → outcome readable among them, p50';
  return [
    {
      measure: `${measure}: a turn that was just started; compared: none waiting`,
      ...beside(newest, none, ms),
      ...atMost(1.3, ratios(newest, none)),
    },
    {
      measure: `${measure}: the oldest turn, no longer in the cache; compared: none waiting, in the cache`,
      ...beside(old, none, ms),
      ...atMost(1.3, ratios(old, none)),
    },
    {
      measure: 'the bare workflow: its oldest turn; compared: none waiting',
      ...beside(bareOld, bareNone, ms),
      ...noBar(ratios(bareOld, bareNone)),
    },
  ];
}

function readable({ readableMs }: DecisionTimes): number {
  return readableMs;
}

function takeOldest({ waiting: turns }: Crowd): WaitingTurn {
  const turn = turns.shift();
  if (turn === undefined) throw new Error('no turn waits any more');
  return turn;
}

async function decisions({ scale, progress }: BenchContext, own: Crowd, bare: Crowd): Promise<Finding> {
  progress('many decisions at once');
  const block = (crowd: Crowd) => () =>
    rateOf(scale.waitingDecisions, STARTERS, async () => {
      const turn = takeOldest(crowd);
      await Promise.all([turn.effectNs(), turn.decide()]);
    });
  const [above = [], below = []] = await interleave([block(own), block(bare)], scale.waitingBlocks);
  return {
    measure: `decisions among them to the result, ${STARTERS} at once, the oldest turns first`,
    ...beside(above, below, perSecond),
    ...noBar(ratios(above, below)),
  };
}
