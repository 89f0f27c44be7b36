import type { Context } from 'hono';
import { html } from 'hono/html';
import { formField } from '../form-field';
import { givenValue } from './given';
import type { Html } from './layout';

/** What somebody took the time to write is not lost with the page that it was on. */
export function writtenView(texts: readonly (string | undefined)[]): Html | null {
  const written = texts.flatMap((text) => (text === undefined || text === '' ? [] : [text]));
  return written.length === 0
    ? null
    : html`<p>What you wrote: ${written.map((text) => html`${givenValue(text)} `)}</p>`;
}

const WRITTEN_FIELDS = ['ticket', 'reason', 'note'] as const;

/** The same of a form that went no further than its reading, or not even there. */
export async function writtenIn(c: Context): Promise<Html | null> {
  const texts = await Promise.all(WRITTEN_FIELDS.map((name) => formField(c, name)));
  return writtenView(texts.map((text) => text?.replaceAll('\r\n', '\n')));
}
