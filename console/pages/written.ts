import { html } from 'hono/html';
import { givenValue } from './given';
import type { Html } from './layout';

/** What somebody took the time to write is not lost with the page that it was on. */
export function writtenView(texts: readonly (string | undefined)[]): Html | null {
  const written = texts.filter((text) => text !== undefined && text !== '');
  return written.length === 0
    ? null
    : html`<p>What you wrote: ${written.map((text) => html`${givenValue(text ?? '')} `)}</p>`;
}
