import type { Context } from 'hono';

const CONTENT_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const YEAR_S = 31_536_000;

const HEADERS = {
  'content-security-policy': CONTENT_POLICY,
  // For what knows no frame-ancestors.
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // Not no-referrer: a browser then hides the origin of the console's own forms, too (Fetch, Origin header).
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Sets on an answer what tells a browser to trust nothing but the console's own files, and to keep no page. */
export function setSecurityHeaders({ req, res }: Context, isHttps: boolean): void {
  for (const [name, value] of Object.entries(HEADERS)) res.headers.set(name, value);
  if (!req.path.startsWith('/assets/') || !res.ok) res.headers.set('cache-control', 'no-store');
  if (isHttps) res.headers.set('strict-transport-security', `max-age=${YEAR_S}`);
}
