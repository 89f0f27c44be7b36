import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { parse } from 'hono/utils/cookie';
import type { CookieOptions } from 'hono/utils/cookie';
import type { ConsoleSettings } from '../settings';

export type CookieName = 'holdpoint_session' | 'holdpoint_sign_in';

/** The cookies of the console: no script reads them, and no foreign page's form brings them along. */
export interface Cookies {
  set(c: Context, name: CookieName, cookie: { readonly value: string; readonly forMs: number }): void;
  get(c: Context, name: CookieName): string | undefined;
  remove(c: Context, name: CookieName): void;
  /** The session's value in a Cookie header. */
  sessionIn(header: string | undefined): string | undefined;
}

export function createCookies({ publicUrl }: Pick<ConsoleSettings, 'publicUrl'>): Cookies {
  const isSecure = publicUrl?.startsWith('https:') === true;
  // `__Host-`: no other host of the domain, and nobody on the way, can set one (RFC 6265bis, section 4.1.3.2).
  const full = (name: CookieName): string => (isSecure ? `__Host-${name}` : name);
  const options: CookieOptions = { httpOnly: true, sameSite: 'Lax', path: '/', secure: isSecure };
  return {
    set: (c, name, { value, forMs }) =>
      setCookie(c, full(name), value, { ...options, maxAge: Math.floor(forMs / 1_000) }),
    get: (c, name) => getCookie(c, full(name)),
    remove: (c, name) => void deleteCookie(c, full(name), options),
    sessionIn: (header = '') => parse(header, full('holdpoint_session'))[full('holdpoint_session')],
  };
}
