/** The machine's monotonic clock in nanoseconds: one clock for all processes of a run. */
export function nowNs(): bigint {
  return process.hrtime.bigint();
}

export function msBetween(startNs: bigint, endNs: bigint): number {
  return Number(endNs - startNs) / 1e6;
}

/** How long something takes, in ms. */
export async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}
