import { html } from 'hono/html';
import type { Html } from './layout';

const PAGES = [
  { href: '/retrospectives', name: 'Emergencies to review' },
  { href: '/retrospectives?all=1', name: 'All emergencies' },
  { href: '/second-reviews', name: 'Second reviews' },
] as const;

/** The lists of what people look at again. */
export function reviewsNav(current: (typeof PAGES)[number]['href']): Html {
  return html`<nav class="filters" aria-label="Which reviews">
    <ul>
      ${PAGES.map(
        ({ href, name }) =>
          html`<li><a href="${href}" ${href === current ? html`aria-current="page"` : null}>${name}</a></li>`,
      )}
    </ul>
  </nav>`;
}
