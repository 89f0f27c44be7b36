import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Job, Ran, Round } from './racer-child';

/** Processes that each run one job at the same instant, as often as they are asked to. */
export interface Racers {
  /**
   * Runs each job in a process of its own, all at once, and in another process each time, so that none is always the
   * faster one. Answers what each got, in the order of the jobs; throws where one threw.
   */
  race<T extends readonly unknown[]>(...jobs: readonly Job[]): Promise<T>;
  /** The same, at an instant of the caller's choice. */
  raceAt<T extends readonly unknown[]>(atMs: number, ...jobs: readonly Job[]): Promise<T>;
  close(): Promise<void>;
}

/** From the message to the instant: a process that was busy with its last answer has to be there in time. */
const HEAD_START_MS = 8;

export async function startRacers(count: number): Promise<Racers> {
  const racers = Array.from({ length: count }, start);
  await Promise.all(racers.map((racer) => nextMessage(racer)));
  let rounds = 0;
  async function raceAt<T extends readonly unknown[]>(atMs: number, ...jobs: readonly Job[]): Promise<T> {
    if (jobs.length > count) throw new Error(`${jobs.length} jobs for ${count} racers`);
    const round = (rounds += 1);
    const ran = await Promise.all(
      jobs.map((job, index) => ask(racers[(index + round) % count]!, { round, atMs, job })),
    );
    const failed = ran.find(({ error }) => error !== undefined);
    if (failed !== undefined) throw new Error(`a racer failed: ${failed.error}`);
    return ran.map(({ value }) => value) as unknown as T;
  }
  return {
    raceAt,
    race: (...jobs) => raceAt(Date.now() + HEAD_START_MS, ...jobs),
    close: async () => {
      await Promise.all(
        racers.map(async (racer) => {
          racer.disconnect();
          await once(racer, 'exit');
        }),
      );
    },
  };
}

function start(): ChildProcess {
  return fork(join(__dirname, 'racer-child.ts'), { execArgv: ['-r', join(__dirname, 'ts-hook.cjs')] });
}

async function ask(racer: ChildProcess, round: Round): Promise<Ran> {
  const answer = nextMessage(racer);
  racer.send(round);
  return (await answer) as Ran;
}

function nextMessage(racer: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error('a racer ended by itself'));
    racer.once('exit', gone);
    racer.once('message', (message) => {
      racer.off('exit', gone);
      resolve(message);
    });
  });
}
