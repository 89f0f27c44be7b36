const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;

/**
 * The pause before what failed `times` times is tried again. It grows, because each try costs events of the one history
 * that a turn has.
 */
export function pauseMs(times: number): number {
  return Math.min(FIRST_MS * 1.5 ** times, LONGEST_MS);
}
