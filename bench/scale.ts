/** How much is measured. A block is what one side of a pair does before the other side has its turn. */
export interface Scale {
  /** Turns of each side before anything is measured: compilers settle only after some hundred. */
  readonly warmUpTurns: number;
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
  readonly gatewayWarmUp: number;
  readonly gatewayBlocks: number;
  readonly gatewayCalls: number;
  readonly consoleLoads: number;
  readonly consoleDecisions: number;
}

export const FULL: Scale = {
  warmUpTurns: 600,
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
  gatewayWarmUp: 1_000,
  gatewayBlocks: 8,
  gatewayCalls: 200,
  consoleLoads: 200,
  consoleDecisions: 100,
};

export const QUICK: Scale = {
  warmUpTurns: 150,
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
  gatewayWarmUp: 300,
  gatewayBlocks: 3,
  gatewayCalls: 100,
  consoleLoads: 50,
  consoleDecisions: 30,
};
