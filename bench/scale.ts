/** How much is measured. A block is what one side of a pair does before the other side has its turn. */
export interface Scale {
  readonly latencyBlocks: number;
  readonly latencyRounds: number;
  readonly throughputBlocks: number;
  readonly throughputTurns: number;
  readonly ledgerRuns: number;
  readonly ledgerMs: number;
  readonly waitingTurns: number;
  readonly waitingBlocks: number;
  readonly waitingRounds: number;
  readonly waitingDecisions: number;
  readonly kills: number;
}

export const FULL: Scale = {
  latencyBlocks: 10,
  latencyRounds: 25,
  throughputBlocks: 8,
  throughputTurns: 160,
  ledgerRuns: 5,
  ledgerMs: 4_000,
  waitingTurns: 10_000,
  waitingBlocks: 8,
  waitingRounds: 20,
  waitingDecisions: 160,
  kills: 5,
};

export const QUICK: Scale = {
  latencyBlocks: 4,
  latencyRounds: 12,
  throughputBlocks: 3,
  throughputTurns: 64,
  ledgerRuns: 2,
  ledgerMs: 1_500,
  waitingTurns: 1_000,
  waitingBlocks: 3,
  waitingRounds: 8,
  waitingDecisions: 48,
  kills: 2,
};
