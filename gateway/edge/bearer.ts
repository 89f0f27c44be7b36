import type { IncomingMessage } from 'node:http';

/** `none`: the request names nobody. `malformed`: it tries, in no way that a bearer token is sent. */
export type Bearer =
  { readonly kind: 'token'; readonly token: string } | { readonly kind: 'none' } | { readonly kind: 'malformed' };

const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

/**
 * Takes the bearer token out of a request: afterwards it stands in none of the request's headers, so that what is
 * passed on cannot hold it. A token in the address or in a body is not looked for (MCP, authorization).
 */
export function takeBearer(req: IncomingMessage): Bearer {
  const given = req.headersDistinct['authorization'] ?? [];
  removeAuthorization(req);
  const [header] = given;
  if (header === undefined) return { kind: 'none' };
  const [, token] = given.length === 1 ? (BEARER.exec(header) ?? []) : [];
  if (token !== undefined) return { kind: 'token', token };
  return /^bearer\b/i.test(header) || given.length > 1 ? { kind: 'malformed' } : { kind: 'none' };
}

function removeAuthorization({ headers, headersDistinct, rawHeaders }: IncomingMessage): void {
  delete headers.authorization;
  delete headersDistinct['authorization'];
  const kept = rawHeaders.filter((_, index) => rawHeaders[index - (index % 2)]?.toLowerCase() !== 'authorization');
  rawHeaders.splice(0, rawHeaders.length, ...kept);
}
