import type { Client } from '@temporalio/client';
import type { BenchContext, Measure } from '../bench-context';
import type { Finding } from '../finding';
import { timeDecision } from '../rounds';
import type { Subject } from '../subject';

const TURNS = 5;

interface Counts {
  readonly events: number;
  readonly tasks: number;
}

/** Events and workflow tasks in the histories of turns that ran. */
export const histories: Measure = {
  name: 'histories',
  title: 'Events and workflow tasks',
  async run({ stack }: BenchContext): Promise<readonly Finding[]> {
    const { client, holdpoint: own, ...shared } = await stack();
    const bare = shared.bare({ by: 'update', opens: true });
    const largest = async (subject: Subject, run: (subject: Subject) => Promise<string>): Promise<Counts> => {
      const counts: Counts[] = [];
      for (let turn = 0; turn < TURNS; turn += 1) counts.push(await countsOf(client, await run(subject)));
      return {
        events: Math.max(...counts.map(({ events }) => events)),
        tasks: Math.max(...counts.map(({ tasks }) => tasks)),
      };
    };
    const free = (subject: Subject) => subject.runFree();
    return [
      line('turn with one approval', { events: 28, tasks: 5 }, [await largest(own, asked), await largest(bare, asked)]),
      line('turn without approval', { events: 20, tasks: 3 }, [await largest(own, free), await largest(bare, free)]),
    ];
  },
};

async function asked(subject: Subject): Promise<string> {
  const turn = await subject.open();
  await timeDecision(turn);
  return turn.workflowId;
}

async function countsOf(client: Client, workflowId: string): Promise<Counts> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const all = events ?? [];
  return {
    events: all.length,
    tasks: all.filter((event) => (event.workflowTaskStartedEventAttributes ?? null) !== null).length,
  };
}

function line(measure: string, limit: Counts, [own, bare]: readonly [Counts, Counts]): Finding {
  const text = ({ events, tasks }: Counts): string => `${events} events, ${tasks} tasks`;
  return {
    measure: `${measure} (the most of ${TURNS})`,
    holdpoint: text(own),
    compared: text(bare),
    ratio: null,
    bar: `≤ ${text(limit)}`,
    met: own.events <= limit.events && own.tasks <= limit.tasks,
  };
}
