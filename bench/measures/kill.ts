import type { BenchContext, Measure } from '../bench-context';
import { msBetween, nowNs } from '../clock';
import { ms, spreadText, type Finding } from '../finding';
import { whenReady } from '../processes';
import type { Stack } from '../stack';

const TURNS = 10;
const BAR_MS = 3_000;

interface Recovery {
  /** From the start of the new process until it polls. */
  readonly readyMs: number;
  /** The slowest decision, from `from` to its verdict. */
  readonly slowestMs: number;
}

/** Kills the worker that holds waiting turns, starts another, and decides at once. */
export const kill: Measure = {
  name: 'kill',
  title: 'Worker killed with SIGKILL while turns wait',
  async run({ scale, stack, progress }: BenchContext): Promise<readonly Finding[]> {
    const shared = await stack();
    const early: Recovery[] = [];
    const late: Recovery[] = [];
    for (let round = 1; round <= scale.kills; round += 1) {
      early.push(await recover(shared, 'started'));
      late.push(await recover(shared, 'ready'));
      progress(`kill ${round} of ${scale.kills}`);
    }
    return [
      line('decided as soon as the new process is started: start → the slowest verdict', early),
      line('decided only when the new worker polls: from there → the slowest verdict', late),
      {
        ...line(
          'start of the new process → it polls',
          [...early, ...late].map(({ readyMs }) => ({ readyMs, slowestMs: readyMs })),
        ),
        bar: null,
        met: null,
      },
    ];
  },
};

async function recover(stack: Stack, from: 'started' | 'ready'): Promise<Recovery> {
  const turns = await Promise.all(Array.from({ length: TURNS }, () => stack.holdpoint.open()));
  await stack.killHoldpointWorker();
  const startNs = nowNs();
  const child = await stack.startHoldpointWorker();
  const ready = whenReady('holdpoint-worker', child).then(nowNs);
  const decideFromNs = from === 'ready' ? await ready : startNs;
  const verdicts = await Promise.all(
    turns.map(async (turn) => {
      await turn.decide();
      return msBetween(decideFromNs, nowNs());
    }),
  );
  const readyMs = msBetween(startNs, await ready);
  await Promise.all(turns.map((turn) => turn.effectNs()));
  return { readyMs, slowestMs: Math.max(...verdicts) };
}

function line(measure: string, recoveries: readonly Recovery[]): Finding {
  const slowest = recoveries.map(({ slowestMs }) => slowestMs);
  return {
    measure: `${measure} (${TURNS} turns)`,
    holdpoint: spreadText(slowest, ms),
    compared: null,
    ratio: null,
    bar: `≤ ${ms(BAR_MS)}`,
    met: Math.max(...slowest) <= BAR_MS,
  };
}
