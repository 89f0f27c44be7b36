import { parseStrictJson } from '../core/json';
import type { JsonValue } from '../core/json';

type MaybePromise<T> = T | Promise<T>;

/** The steps of `once`, in order; `committed` is reached by the adapters. */
export const ONCE_STEPS = ['begun', 'claimed', 'applied', 'recorded', 'committed'] as const;

/** A step of `once`. */
export type OnceStep = (typeof ONCE_STEPS)[number];

/** Called at each step: for tests that end the process there. */
export type OnStep = (step: OnceStep) => void;

/**
 * The author's own table of operations, inside one open transaction: the one that the effect is part of. `claim` adds
 * the id and returns false where it stands there already; `record` keeps the result beside it.
 */
export interface OperationTransaction {
  claim(operationId: string): MaybePromise<boolean>;
  record(operationId: string, result: string): MaybePromise<unknown>;
  /** The recorded result. */
  find(operationId: string): MaybePromise<string | null | undefined>;
  readonly onStep?: OnStep;
}

const LARGEST_RESULT_BYTES = 33_554_432;

/**
 * Runs `effect` in the transaction that adds the operation id, so that both are there or neither is: a crash at any
 * point leaves an operation that was done and is found, or one that was not done and may be sent again. A second call
 * gives the recorded result and runs nothing. `effect` may only change what the transaction can take back. Rejects
 * with what `effect` rejects with; the caller then rolls back.
 * @param operationId from a verified permit, or from the argument that Holdpoint fills.
 */
export async function once(
  tx: OperationTransaction,
  operationId: string,
  effect: () => MaybePromise<JsonValue>,
): Promise<JsonValue> {
  tx.onStep?.('begun');
  if (!(await tx.claim(operationId))) return recorded(operationId, await tx.find(operationId));
  tx.onStep?.('claimed');
  const result = await effect();
  tx.onStep?.('applied');
  await tx.record(operationId, JSON.stringify(result));
  tx.onStep?.('recorded');
  return result;
}

function recorded(operationId: string, text: string | null | undefined): JsonValue {
  const result =
    text === null || text === undefined ? undefined : parseStrictJson(text, { maxBytes: LARGEST_RESULT_BYTES });
  if (result?.ok !== true) throw new Error(`The operation ${operationId} was claimed, but no result stands beside it`);
  return result.value;
}
