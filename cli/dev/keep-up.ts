import { setTimeout as delay } from 'node:timers/promises';
import type { Child } from '../../worker/child-process';
import type { Io } from '../io';
import { safeBlock } from '../text';
import { endedText } from './worker-words';

/** Settles when the stack ends: by the user's wish (`stop`), or for the reason that it gives. */
export type Over = Promise<string>;

export interface Keeping {
  /** What it is called, and its log. */
  readonly name: string;
  readonly start: () => Promise<Child>;
  readonly over: Over;
  /** Called once, when it is up for the first time. */
  readonly onUp: () => void;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** Starts a process again whenever it has ended, until all is over; says what is wrong, once for each thing. */
export async function keepUp({ stderr }: Io, { name, start, over, onUp }: Keeping): Promise<void> {
  let wasUp = false;
  let lastSaid = '';
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const starting = start().catch((error: unknown) => error);
    if (await isOverBefore(over, starting)) return;
    const child = await starting;
    if (isChild(child)) {
      pauseMs = FIRST_PAUSE_MS;
      if (!wasUp) onUp();
      wasUp = true;
      if (await isOverBefore(over, child.exited)) return;
      stderr.write(`${safeBlock(endedText(await child.exited, child.recentOutput(), name))}\n`);
    } else {
      const message = child instanceof Error ? child.message : String(child);
      if (message !== lastSaid) stderr.write(`${safeBlock(message)}\n… it is tried again until it starts\n`);
      lastSaid = message;
    }
    if (await isOverBefore(over, pause(pauseMs))) return;
  }
}

/** True: it is over before `work` was done. */
export async function isOverBefore(over: Over, work: Promise<unknown>): Promise<boolean> {
  return Promise.race([over.then(() => true), work.then(() => false)]);
}

/** Keeps no process alive that has nothing else to do. */
export function pause(ms: number): Promise<void> {
  return delay(ms, undefined, { ref: false });
}

function isChild(value: unknown): value is Child {
  return typeof value === 'object' && value !== null && 'exited' in value;
}
