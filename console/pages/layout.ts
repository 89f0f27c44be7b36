import { html } from 'hono/html';
import { showText } from '../../core/display';
import type { Viewer } from '../ports';

/** A piece of a page, made by `html`: whatever it was made of is escaped already. */
export type Html = ReturnType<typeof html>;

/** Which entry of the navigation the page belongs to. */
export type Section = 'requests' | 'operations' | 'grants' | 'reviews' | 'reports';

export interface PageOfConsole {
  /** Escapes of `showText` are added here: it may hold names from outside. */
  readonly title: string;
  /** Null where nobody is signed in: then there is no navigation. */
  readonly viewer: Viewer | null;
  readonly csrf: string | null;
  readonly body: Html;
  /** What the page's script watches: `list`, or an operation id; left out, nothing. */
  readonly live?: string;
  readonly section?: Section;
}

/** The frame of every page: landmarks, navigation, the line for live messages. Nothing in it takes the focus. */
export function layout({ title, viewer, csrf, body, live, section }: PageOfConsole): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${showText(title)} · Holdpoint</title>
        <link rel="icon" href="/assets/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/assets/console.css" />
        <script src="/assets/console.js" defer></script>
      </head>
      <body data-live="${live ?? ''}">
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">
          <a class="brand" href="/">Holdpoint</a>
          ${viewer === null ? null : navigation(section, viewer)} ${viewer === null ? null : account(viewer, csrf)}
        </header>
        <div id="news" class="news" role="status"></div>
        ${viewer?.trust === 'namespace' ? UNSIGNED : null}
        <main id="main" tabindex="-1">${body}</main>
        ${live === undefined ? null : withoutScript()}
      </body>
    </html>`;
}

/** For one person's own machine only, and so that nobody takes it for less. */
const UNSIGNED = html`<aside class="trust" aria-label="Trust">
  <strong>Trust: namespace.</strong> Unsigned decisions count here, in anybody's name. For development only.
</aside>`;

const ENTRIES = [
  { section: 'requests', href: '/', name: 'Requests' },
  { section: 'operations', href: '/operations', name: 'Operations' },
  { section: 'grants', href: '/grants', name: 'Grants' },
  { section: 'reviews', href: '/retrospectives', name: 'Second looks' },
] as const;

const OPERATOR_ENTRIES = [...ENTRIES, { section: 'reports', href: '/reports', name: 'Reports' }] as const;

function navigation(current: Section | undefined, { isOperator }: Viewer): Html {
  return html`<nav aria-label="Console">
    <ul>
      ${(isOperator ? OPERATOR_ENTRIES : ENTRIES).map(
        ({ section, href, name }) =>
          html`<li><a href="${href}" ${section === current ? html`aria-current="page"` : null}>${name}</a></li>`,
      )}
    </ul>
  </nav>`;
}

function account(viewer: Viewer, csrf: string | null): Html {
  return html`<div class="account">
    <span class="viewer"
      >Signed in as <strong>${showText(viewer.name)}</strong>${viewer.isOperator ? ', operator' : ''}</span
    >
    <form method="post" action="/sign-out">
      <input type="hidden" name="csrf" value="${csrf ?? ''}" />
      <button class="quiet" type="submit">Sign out</button>
    </form>
  </div>`;
}

function withoutScript(): Html {
  return html`<noscript
    ><p class="hint">This page does not follow changes by itself: reload it to see the latest.</p></noscript
  >`;
}
