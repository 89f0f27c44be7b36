const EXPRESSION = /\{[^{}]*\}/;

/** How much of a template is not in braces: the more, the surer is whose a URI is. */
export function literalChars(template: string): number {
  return template.split(EXPRESSION).join('').length;
}

/**
 * Whether a URI may come from a template (RFC 6570): its literal parts stand in it, in this order, and whatever is in
 * braces may be anything. It only says whom to ask first, so it may take too much, but never long: templates are
 * untrusted.
 */
export function mayComeFrom(template: string, uri: string): boolean {
  const [first = '', ...others] = template.split(EXPRESSION);
  const last = others.pop();
  if (last === undefined) return template === uri;
  if (!uri.startsWith(first)) return false;
  let at = first.length;
  for (const literal of others) {
    const found = uri.indexOf(literal, at);
    if (found === -1) return false;
    at = found + literal.length;
  }
  return uri.length - last.length >= at && uri.endsWith(last);
}
