/**
 * Ends a switch over a union: it does not compile while a member is left out, and throws where a value of another
 * release arrives at run time. An object is never printed, because it may hold a secret.
 */
export function unreachable(value: never): never {
  throw new Error(`No case for ${typeof value === 'string' ? JSON.stringify(value) : typeof value}`);
}
