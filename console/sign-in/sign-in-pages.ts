import { html } from 'hono/html';
import { cut, showText } from '../../core/display';
import type { Html } from '../pages/layout';
import { freshQuery } from './fresh';
import type { Fresh } from './fresh';
import { messagePage } from '../pages/message-page';

const LONGEST_CLAIM = 200;

/** What a page of the sign-in says: its body, under its title. */
export interface SignInPage {
  readonly title: string;
  readonly body: Html;
}

/** The ways to sign in; and out, for somebody who is signed in. */
export function waysPage(ways: {
  readonly to: string;
  readonly fresh: Fresh | null;
  readonly provider: string | null;
  readonly known: { readonly person: string; readonly csrf: string } | null;
}): SignInPage {
  const { to, fresh, provider, known } = ways;
  return {
    title: 'Sign in',
    body: html`<h1>${fresh === null ? 'Sign in' : 'Sign in again'}</h1>
      ${known === null ? null : signOutForm(known)} ${provider === null ? null : providerWay(provider, { to, fresh })}
      <p>
        ${provider === null ? 'You sign in by a sign-in link' : 'You may also sign in by a sign-in link'}: an operator
        of this console makes one for you. Open it in this browser; it counts once.
      </p>`,
  };
}

function providerWay(provider: string, on: { readonly to: string; readonly fresh: Fresh | null }): Html {
  return html`<p><a href="/sign-in/oidc?${freshQuery(on)}">Sign in with ${showText(provider)}</a></p>`;
}

function signOutForm({ person, csrf }: { readonly person: string; readonly csrf: string }): Html {
  return html`<form method="post" action="/sign-out">
    <p>You are signed in as <strong>${showText(person)}</strong>.</p>
    <input type="hidden" name="csrf" value="${csrf}" />
    <button type="submit">Sign out</button>
  </form>`;
}

/** Whom a link would sign in. Only the button does: programs follow links, too. */
export function linkPage(link: { readonly person: string; readonly code: string; readonly to: string }): SignInPage {
  const person = showText(link.person);
  return {
    title: 'Sign in by a link',
    body: html`<h1>Sign in as ${person}?</h1>
      <p>This link signs in <strong>${person}</strong>, once. Go on only if that is you.</p>
      <form method="post" action="/sign-in/link">
        <input type="hidden" name="code" value="${link.code}" />
        <input type="hidden" name="to" value="${link.to}" />
        <button type="submit">Sign in as ${person}</button>
      </form>`,
  };
}

/** That nobody was signed in, and why: one sentence, what to do, and where the way to sign in leads on to. */
export function notSignedInPage({ happened, next, to }: NotSignedIn): SignInPage {
  const title = 'You are not signed in';
  return { title, body: messagePage({ title, happened, recorded: NOBODY, next, more: again(to) }) };
}

export interface NotSignedIn {
  readonly happened: string;
  readonly next: string;
  readonly to: string;
}

export function noPersonPage(claim: string, to: string): SignInPage {
  const title = 'You may not sign in here';
  const body = messagePage({
    title,
    happened: html`The active policy lists no person <code>${showText(cut(claim, LONGEST_CLAIM))}</code>.`,
    recorded: NOBODY,
    next: html`An operator of Holdpoint adds this name to <code>people</code> of the policy, or to the
      <code>subjects</code> of one of them, and applies it.`,
    more: again(to),
  });
  return { title, body };
}

const NOBODY = 'Nobody was signed in.';

function again(to: string): Html {
  return html`<p><a href="/sign-in?to=${encodeURIComponent(to)}">Back to the sign-in</a></p>`;
}
