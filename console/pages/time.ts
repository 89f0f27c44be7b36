import { html } from 'hono/html';
import type { Html } from './layout';
import { relative, when } from './words';

/** A moment as `in 29 min`, and on the next line `2026-12-01 10:30:05 UTC`: the one that ticks moves nothing else. */
export function moment(atMs: number, nowMs: number): Html {
  return html`<span class="moment">${ago(atMs, nowMs)}</span> ${absolute(atMs)}`;
}

/** `in 29 min`, `4 s ago`; with script it ticks, so it stands where no other text depends on its width. */
export function ago(atMs: number, nowMs: number): Html {
  return html`<time class="relative" datetime="${isoOf(atMs)}" data-now="${nowMs}">${relative(atMs, nowMs)}</time>`;
}

/** `2026-12-01 10:30:05 UTC`. */
export function absolute(atMs: number): Html {
  return html`<time datetime="${isoOf(atMs)}">${when(atMs)}</time>`;
}

function isoOf(atMs: number): string {
  return new Date(atMs).toISOString();
}
