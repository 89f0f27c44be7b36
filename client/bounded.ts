import type { Client } from '@temporalio/client';
import { decoded } from './decoded';
import { isNoAnswer } from './temporal-error';

/** The limit of every update and query: without one a call to a turn that no worker holds waits for ever. */
const CALL_LIMIT_MS = 5_000;

/** For the server's own word that the time is over. */
const OVERDUE_MS = 100;

export type Bounded<T> =
  | { readonly kind: 'answer'; readonly value: T }
  /** No answer in time. What was sent may still be applied later: this means unknown, never "not applied". */
  | { readonly kind: 'noAnswer'; readonly cause: unknown };

/** Runs one call to Temporal within the limit; any other failure than a missing answer is thrown, also an unreadable one. */
export async function bounded<T>(
  client: Client,
  call: () => Promise<T>,
  limitMs: number = CALL_LIMIT_MS,
): Promise<Bounded<T>> {
  let timer: NodeJS.Timeout | undefined;
  // Temporal's client ends a pause before its next try, where the server is away, whatever the deadline.
  const late = new Promise<Bounded<T>>((resolve) => {
    timer = setTimeout(resolve, limitMs + OVERDUE_MS, { kind: 'noAnswer', cause: new Error(`${limitMs} ms are over`) });
  });
  return Promise.race([asked(client, call, limitMs), late]).finally(() => clearTimeout(timer));
}

async function asked<T>(client: Client, call: () => Promise<T>, limitMs: number): Promise<Bounded<T>> {
  try {
    return { kind: 'answer', value: decoded(await client.withDeadline(Date.now() + limitMs, call)) };
  } catch (error) {
    if (isNoAnswer(error)) return { kind: 'noAnswer', cause: error };
    throw error;
  }
}
