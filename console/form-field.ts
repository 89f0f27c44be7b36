import type { Context } from 'hono';

/** A field of the form that a request carries; null where it has none, or no form that can be read. Never throws. */
export async function formField(c: Context, name: string): Promise<string | null> {
  try {
    const form = await c.req.parseBody();
    const value = Object.hasOwn(form, name) ? form[name] : null;
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}
