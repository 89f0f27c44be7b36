const LONGEST_PATH = 1_000;
const BASE = 'http://console.invalid';

/**
 * The path of this console that `to` names, as a browser would read it; `/` for everything else, so that a link to
 * the sign-in leads nobody away afterwards.
 */
export function ownPath(to: string | undefined): string {
  if (to?.startsWith('/') !== true || to.length > LONGEST_PATH || !URL.canParse(to, BASE)) return '/';
  const { origin, pathname, search, hash } = new URL(to, BASE);
  const path = `${pathname}${search}${hash}`;
  // Once without its dots, `/.//evil.example` is the name of a host.
  return origin === BASE && !/^\/[/\\]/.test(path) ? path : '/';
}
