import { html } from 'hono/html';
import type { Html } from './layout';

export interface Point {
  /** Under the axis, where there is room: a few characters of ours. */
  readonly tick: string;
  /** In the table, and where somebody points at it. */
  readonly name: string;
  /** Null where there is nothing to tell, which is not 0. */
  readonly value: number | null;
}

export interface Plot {
  /** Of the page's own, for what refers to a part of the plot. */
  readonly id: string;
  readonly title: string;
  /** What it says in one sentence, for everybody and instead of the picture. */
  readonly summary: string;
  readonly kind: 'bars' | 'line';
  readonly unit: 'count' | 'percent';
  /** Head of the table's first column. */
  readonly axis: string;
  readonly points: readonly Point[];
}

const WIDTH = 320;
const HEIGHT = 150;
const LEFT = 34;
const TOP = 8;
const BOTTOM = 130;
const MOST_TICKS = 6;

/** A picture drawn on the server, without script and without style of its own, and the same numbers as a table. */
export function plotView(plot: Plot): Html {
  const { id, title, summary, points } = plot;
  const scale = scaleOf(plot);
  return html`<figure class="plot">
    <figcaption>
      <h3 id="${id}-title">${title}</h3>
      <p class="hint" id="${id}-summary">${summary}</p>
    </figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="${id}-title ${id}-summary">
      ${gridView(scale)} ${plot.kind === 'bars' ? points.map((each, nth) => barView(each, { nth, plot, scale })) : null}
      ${plot.kind === 'line' ? lineView(plot, scale) : null} ${ticksView(points)}
    </svg>
    ${tableView(plot)}
  </figure>`;
}

interface Scale {
  readonly most: number;
  readonly textOf: (value: number) => string;
}

function scaleOf({ unit, points }: Plot): Scale {
  if (unit === 'percent') return { most: 100, textOf: (value) => `${Math.round(value)}\u00a0%` };
  return { most: roundUp(Math.max(1, ...points.map(({ value }) => value ?? 0))), textOf: String };
}

/** To 1, 2 or 5 and zeros: ends of an axis that can be read. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}

function yOf(value: number, { most }: Scale): number {
  return rounded(BOTTOM - (value / most) * (BOTTOM - TOP));
}

function xOf(nth: number, points: number): number {
  return rounded(LEFT + ((nth + 0.5) * (WIDTH - LEFT)) / points);
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

function gridView(scale: Scale): readonly Html[] {
  const half = scale.most / 2;
  return [0, ...(Number.isInteger(half) ? [half] : []), scale.most].map((value) => {
    const y = yOf(value, scale);
    return html`<line class="grid-line" x1="${LEFT}" x2="${WIDTH}" y1="${y}" y2="${y}"></line>
      <text class="tick" x="${LEFT - 4}" y="${y + 3}" text-anchor="end">${scale.textOf(value)}</text>`;
  });
}

interface BarAt {
  readonly nth: number;
  readonly plot: Plot;
  readonly scale: Scale;
}

function barView({ name, value }: Point, { nth, plot: { points }, scale }: BarAt): Html | null {
  if (value === null || value === 0) return null;
  const width = rounded(((WIDTH - LEFT) / points.length) * 0.75);
  const [x, y] = [rounded(xOf(nth, points.length) - width / 2), yOf(value, scale)];
  return html`<rect class="bar" x="${x}" y="${y}" width="${width}" height="${rounded(BOTTOM - y)}">
    <title>${name}: ${scale.textOf(value)}</title>
  </rect>`;
}

/** A line is broken where there is nothing to tell; a dot shows each value, so that a lonely one is seen. */
function lineView({ points }: Plot, scale: Scale): Html {
  const path = points.map(({ value }, nth) => {
    if (value === null) return '';
    const isFirst = (points[nth - 1]?.value ?? null) === null;
    return `${isFirst ? 'M' : 'L'}${xOf(nth, points.length)} ${yOf(value, scale)}`;
  });
  const dots = points.map(({ name, value }, nth) =>
    value === null
      ? null
      : html`<circle class="dot" cx="${xOf(nth, points.length)}" cy="${yOf(value, scale)}" r="2.5">
          <title>${name}: ${scale.textOf(value)}</title>
        </circle>`,
  );
  return html`<path class="line" d="${path.join('')}"></path>${dots}`;
}

function ticksView(points: readonly Point[]): readonly (Html | null)[] {
  const every = Math.ceil(points.length / MOST_TICKS);
  return points.map(({ tick }, nth) =>
    nth % every === 0
      ? html`<text class="tick" x="${xOf(nth, points.length)}" y="${BOTTOM + 14}" text-anchor="middle">${tick}</text>`
      : null,
  );
}

function tableView({ id, unit, axis, points }: Plot): Html {
  const textOf = (value: number | null): string =>
    value === null ? 'none' : unit === 'percent' ? `${Math.round(value)}\u00a0%` : String(value);
  return html`<details>
    <summary>The same as a table</summary>
    <table aria-labelledby="${id}-title">
      <thead>
        <tr>
          <th scope="col">${axis}</th>
          <th scope="col" class="number">${unit === 'percent' ? 'Share' : 'Number'}</th>
        </tr>
      </thead>
      <tbody>
        ${points.map(
          ({ name, value }) =>
            html`<tr>
              <th scope="row">${name}</th>
              <td class="number">${textOf(value)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </details>`;
}
