/** Ids of statements that count no longer although they have not expired; kept until they have. */
export interface SpentIds {
  /** What was spent before is not known here; epoch milliseconds. */
  readonly sinceMs: number;
  /** False where it was spent before. */
  spend(statement: { readonly id: string; readonly expiresAtMs: number }): boolean;
  isSpent(id: string): boolean;
}

/**
 * In this process only. It holds no more than was sealed with the console's key, so nobody outside can fill it.
 * @param nowMs epoch milliseconds.
 */
export function createSpentIds(nowMs: () => number): SpentIds {
  const spent = new Map<string, number>();
  const forgetExpired = (): void => {
    const now = nowMs();
    for (const [id, expiresAtMs] of spent) if (expiresAtMs <= now) spent.delete(id);
  };
  return {
    sinceMs: nowMs(),
    spend: ({ id, expiresAtMs }) => {
      forgetExpired();
      if (spent.has(id)) return false;
      spent.set(id, expiresAtMs);
      return true;
    },
    isSpent: (id) => spent.has(id),
  };
}
