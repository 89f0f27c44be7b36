/** Whether a JSON pointer lies at or below one of `secrets`, or above one: what it names then holds a secret. */
export function touchesSecret(pointer: string, secrets: readonly string[]): boolean {
  return secrets.some(
    (secret) => pointer === secret || pointer.startsWith(`${secret}/`) || secret.startsWith(`${pointer}/`),
  );
}
