/** Gives the value of a `${NAME}` reference, by its name; undefined where it is not set. */
export type ResolveSecret = (name: string) => string | undefined;

export type Resolved<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly missing: string };

/** Puts the values of `${NAME}` references in their places; names the first one that is not set. */
export function resolveText(text: string, resolveSecret: ResolveSecret): Resolved<string> {
  let missing: string | undefined;
  const value = text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
    const secret = resolveSecret(name);
    if (secret === undefined) missing ??= name;
    return secret ?? '';
  });
  return missing === undefined ? { ok: true, value } : { ok: false, missing };
}

/** `resolveText` over every value of a record. */
export function resolveRecord(
  record: Readonly<Record<string, string>>,
  resolveSecret: ResolveSecret,
): Resolved<Readonly<Record<string, string>>> {
  const values: [string, string][] = [];
  for (const [name, text] of Object.entries(record)) {
    const resolved = resolveText(text, resolveSecret);
    if (!resolved.ok) return resolved;
    values.push([name, resolved.value]);
  }
  return { ok: true, value: Object.fromEntries(values) };
}
