import { connect, type TurnStart } from '../../client';

/** What an agent runtime's process is told, as JSON in its only argument. */
export interface ClientTold {
  readonly address: string;
  readonly taskQueue: string;
  readonly turn: TurnStart;
}

/** An agent runtime in a process of its own: starts a turn, prints `started`, waits for the results, prints them. */
async function main({ address, taskQueue, turn: start }: ClientTold): Promise<void> {
  const holdpoint = await connect({ address, namespace: 'default', taskQueue });
  const turn = await holdpoint.startTurn(start);
  console.log('started');
  const results = await turn.results();
  console.log(JSON.stringify(results.map(({ callId, outcome }) => ({ callId, outcome }))));
  await holdpoint.close();
}

if (require.main === module) void main(JSON.parse(process.argv[2] ?? '{}') as ClientTold);
