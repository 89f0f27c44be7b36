import { html } from 'hono/html';
import type { SignInNeed } from '../../core/policy';
import { freshQuery } from '../sign-in/fresh';
import type { Html } from './layout';

/** The way to a new sign-in and back to the request; null where no sign-in could be enough. */
export function signInAgain(operationId: string, need: SignInNeed | undefined): Html | null {
  if (need === undefined || need.acr?.length === 0) return null;
  const query = freshQuery({ to: `/requests/${operationId}`, fresh: { acr: need.acr ?? [] } });
  return html`<a href="/sign-in?${query}">Sign in again to allow</a>`;
}
