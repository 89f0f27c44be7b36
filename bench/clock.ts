/** The machine's monotonic clock in nanoseconds: one clock for all processes of a run. */
export function nowNs(): bigint {
  return process.hrtime.bigint();
}

export function msBetween(startNs: bigint, endNs: bigint): number {
  return Number(endNs - startNs) / 1e6;
}
