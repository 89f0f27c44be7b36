import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Env } from '../ports';
import { named } from './given';
import { layout, type PageOfConsole } from './layout';
import { malformedPage, messagePage, notFoundPage, type Message } from './message-page';
import { writtenIn } from './written';

type Status = 200 | 400 | 403 | 404 | 409 | 413 | 422 | 429 | 500 | 503;

/** Answers with a page in its frame, for whoever is signed in. */
export async function showPage(
  c: Context<Env>,
  page: Omit<PageOfConsole, 'viewer' | 'csrf'>,
  status: Status = 200,
): Promise<Response> {
  return c.html(await layout({ ...page, viewer: c.get('viewer'), csrf: c.get('csrf') }), status);
}

/** The same answer for what is not there and for what is not the viewer's. */
export function showNotFound(c: Context<Env>): Promise<Response> {
  return showPage(c, { title: 'Nothing is here for you', body: notFoundPage() }, 404);
}

/** To an address that none of these pages gave out. */
export function showMalformed(c: Context<Env>, detail: string): Promise<Response> {
  return showPage(c, { title: 'This cannot be read', body: malformedPage(html`${named(detail)}.`) }, 400);
}

/** To a form that none of these pages gave out, with the words that are in it. */
export async function showBadForm(c: Context<Env>, detail: string): Promise<Response> {
  const body = malformedPage(html`${named(detail)}.`, await writtenIn(c));
  return showPage(c, { title: 'This cannot be read', body }, 400);
}

/** To what came too late or against what is on record. */
export function showConflict(c: Context<Env>, message: Message): Promise<Response> {
  return showPage(c, { title: message.title, body: messagePage(message) }, 409);
}
