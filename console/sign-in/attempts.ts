/** Takes one attempt of an address; false where it made too many of them within the last minute. */
export type Attempts = (address: string) => boolean;

const MINUTE_MS = 60_000;
const MOST_ADDRESSES = 10_000;

/**
 * Bounds what sign-ins cost: nobody guesses a seal, but each attempt is work for the console and for the provider.
 * @param nowMs milliseconds of a clock that is never set back.
 */
export function createAttempts(perMinute: number, nowMs: () => number): Attempts {
  const windows = new Map<string, { readonly startedAtMs: number; count: number }>();
  return (address) => {
    const now = nowMs();
    const known = windows.get(address);
    const window = known !== undefined && now < known.startedAtMs + MINUTE_MS ? known : { startedAtMs: now, count: 0 };
    window.count += 1;
    // Deleted first, so that the order of the map is that of the last attempts.
    windows.delete(address);
    windows.set(address, window);
    const [oldest] = windows.keys();
    if (windows.size > MOST_ADDRESSES && oldest !== undefined) windows.delete(oldest);
    return window.count <= perMinute;
  };
}
