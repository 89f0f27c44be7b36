import { html } from 'hono/html';
import { REPORT_WINDOWS, type Reports, type ReportWindow } from '../reports/report';
import type { Html } from './layout';
import { linkWith } from './link-with';
import { absolute } from './time';

/** Where each report is. */
export const REPORT_PATHS = { rules: '/reports', reviews: '/reports/reviews' } as const;

type ReportName = keyof typeof REPORT_PATHS;

const REPORT_TEXT: Readonly<Record<ReportName, string>> = { rules: 'Rules', reviews: 'Reviews' };
const WINDOW_TEXT: Readonly<Record<ReportWindow, string>> = { '24h': '24 hours', '7d': '7 days', '30d': '30 days' };

export interface Head {
  readonly name: ReportName;
  readonly reports: Pick<Reports, 'window' | 'fromMs' | 'toMs'>;
  /** What the report is for, in a sentence. */
  readonly purpose: string;
}

/** The head of a report: the links to the other one and to the other windows, and which time it is about. */
export function reportHead({ name, reports: { window, fromMs, toMs }, purpose }: Head): Html {
  const names = ['rules', 'reviews'] as const;
  return html`<link rel="stylesheet" href="/assets/reports.css" />
    <header class="lead">
      <h1>Reports: ${REPORT_TEXT[name].toLowerCase()}</h1>
      <nav class="filters" aria-label="Which report">
        <ul>
          ${names.map((each) =>
            linkView({
              href: linkWith(REPORT_PATHS[each], { window }),
              text: REPORT_TEXT[each],
              isCurrent: each === name,
            }),
          )}
        </ul>
      </nav>
      <nav class="filters" aria-label="How far back">
        <ul>
          ${REPORT_WINDOWS.map((each) =>
            linkView({
              href: linkWith(REPORT_PATHS[name], { window: each }),
              text: WINDOW_TEXT[each],
              isCurrent: each === window,
            }),
          )}
        </ul>
      </nav>
      <p class="hint">${purpose} What happened from ${absolute(fromMs)} to ${absolute(toMs)}, as the audit has it.</p>
    </header>`;
}

function linkView({ href, text, isCurrent }: { href: string; text: string; isCurrent: boolean }): Html {
  return html`<li><a href="${href}" ${isCurrent ? html`aria-current="page"` : null}>${text}</a></li>`;
}

/** A number and what it is. */
export interface Figure {
  readonly name: string;
  readonly value: string;
}

export function figuresView(figures: readonly Figure[]): Html {
  return html`<dl class="figures">
    ${figures.map(
      ({ name, value }) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

export interface Table {
  readonly id: string;
  readonly title: string;
  readonly hint?: string | Html;
  /** Numbers stand at the right, texts at the left; the first column is always one of texts. */
  readonly columns: readonly (string | { readonly text: string })[];
  /** The first cell of each row is its head. */
  readonly rows: readonly (readonly (Html | string | number)[])[];
  /** Where there are no rows. */
  readonly empty: string;
}

/** A table in an area that is moved sideways by itself where the window is too narrow, also by keys. */
export function reportTable({ id, title, hint, columns, rows, empty }: Table): Html {
  return html`<section aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    ${hint === undefined ? null : html`<p class="hint">${hint}</p>`}
    ${
      rows.length === 0
        ? html`<p class="empty">${empty}</p>`
        : html`<div class="wide" role="group" aria-labelledby="${id}" tabindex="0">
            <table aria-labelledby="${id}">
              <thead>
                <tr>
                  ${columns.map(columnView)}
                </tr>
              </thead>
              <tbody>
                ${rows.map(rowView)}
              </tbody>
            </table>
          </div>`
    }
  </section>`;
}

function columnView(column: Table['columns'][number], nth: number): Html {
  const isText = nth === 0 || typeof column !== 'string';
  const name = typeof column === 'string' ? column : column.text;
  return html`<th scope="col" class="${isText ? '' : 'number'}">${name}</th>`;
}

function rowView([head, ...cells]: readonly (Html | string | number)[]): Html {
  return html`<tr>
    <th scope="row">${head}</th>
    ${cells.map((cell) => html`<td class="${typeof cell === 'object' ? '' : 'number'}">${cell}</td>`)}
  </tr>`;
}

/** `25 %`, in one piece; nothing of nothing is no share. */
export function shareText(part: number, whole: number): string {
  return whole === 0 ? 'none' : `${Math.round((part * 100) / whole)}\u00a0%`;
}
