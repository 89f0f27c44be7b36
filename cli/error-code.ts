/** The code of a system error (`ENOENT`, `EEXIST`, …); null where the error has none. */
export function errorCode(error: unknown): string | null {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : null;
}
