/** A clock that a test moves: the machine's, and what was added. For the ledger, whose clock alone decides. */
export interface TestClock {
  readonly nowMs: () => number;
  advance(byMs: number): void;
}

export const MINUTE_MS = 60_000;

export function testClock(): TestClock {
  let ahead = 0;
  return {
    nowMs: () => Date.now() + ahead,
    advance: (byMs) => {
      ahead += byMs;
    },
  };
}
