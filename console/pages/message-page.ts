import { html } from 'hono/html';
import type { Html } from './layout';

export interface Message {
  readonly title: string;
  /** What happened. */
  readonly happened: Html | string;
  /** Whether anything was recorded. */
  readonly recorded: string;
  /** What to do now. */
  readonly next: Html | string;
  readonly more?: Html | null;
}

/** A page that only says something: what happened, whether anything was recorded, what to do. */
export function messagePage({ title, happened, recorded, next, more = null }: Message): Html {
  return html`<article class="message">
    <h1>${title}</h1>
    <p>${happened}</p>
    <p>${recorded}</p>
    <p>${next}</p>
    ${more}
  </article>`;
}

/** The same for what does not exist and for what is not for the viewer. */
export function notFoundPage(): Html {
  return messagePage({
    title: 'Nothing is here for you',
    happened: 'There is no such page, or it is about something that you neither asked for nor may review.',
    recorded: 'Nothing was recorded.',
    next: html`Check the address, or start from <a href="/">the requests that wait</a>.`,
  });
}

/** After a fault: what the ledger says of itself, or no more than that there is one; the log has the rest. */
export function failedPage(detail: Html | null): Html {
  return messagePage({
    title: 'This did not work',
    happened: detail ?? 'The console met a fault that it did not expect; the log of the console has it.',
    recorded: 'If you sent a decision, whether it is on record can be read on its request.',
    next: html`Reload the page in a moment. If it stays so, tell whoever runs Holdpoint; start from
      <a href="/">the requests that wait</a>.`,
  });
}

/** A form that is not one of this console's pages. */
export function malformedPage(detail: Html | string, more: Html | null = null): Html {
  return messagePage({
    title: 'This form cannot be read',
    happened: detail,
    recorded: 'Nothing was recorded.',
    next: html`Go back and send it from its page again, or start from <a href="/">the requests that wait</a>.`,
    more,
  });
}
