import { createHash } from 'node:crypto';

const SEPARATOR = '__';
/** What the strictest of the widespread model interfaces takes as the name of a tool. */
const LONGEST_SHOWN_NAME = 64;
const MARK_CHARS = 10;
const LEAST_OF_SERVER_CHARS = 16;

/**
 * The name under which `/mcp` shows a server's tool or prompt. It depends on these two names alone, so it stays what it
 * is when servers come and go. It is never taken apart again: whose it is stands in a routing table, because server
 * names may hold the separator, and so may tools. One that would be longer than clients take is shortened, first on the
 * server's side, and ends in a digest of both names, so that names which begin alike stay apart.
 */
export function shownName(server: string, name: string): string {
  const whole = prefixOf(server) + name;
  if (lengthOf(whole) <= LONGEST_SHOWN_NAME) return whole;
  const room = LONGEST_SHOWN_NAME - SEPARATOR.length - 1 - MARK_CHARS;
  const ofName = cut(name, room - Math.min(lengthOf(server), LEAST_OF_SERVER_CHARS));
  const ofServer = cut(server, room - lengthOf(ofName));
  const mark = createHash('sha256')
    .update(JSON.stringify([server, name]))
    .digest('hex');
  return `${ofServer}${SEPARATOR}${ofName}_${mark.slice(0, MARK_CHARS)}`;
}

/** What the names of a server's tools begin with, where none is shortened. */
export function prefixOf(server: string): string {
  return server + SEPARATOR;
}

/** In characters, not in halves of them. */
function lengthOf(text: string): number {
  return Array.from(text).length;
}

function cut(text: string, chars: number): string {
  return Array.from(text).slice(0, chars).join('');
}
