import type { BindMode, Validity } from './policy';
import type { OpeningCause, SimilarOperation } from './request';
import { unreachable } from './unreachable';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** `2026-12-01 10:30:05 UTC`: one form, the same for everybody who looks. */
export function when(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** `29 min`, `2 h 5 min`, `45 s`: two units at most. */
export function duration(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.round(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return two([Math.floor(ms / MINUTE_MS), 'min'], [Math.floor((ms % MINUTE_MS) / SECOND_MS), 's']);
  if (ms < DAY_MS) return two([Math.floor(ms / HOUR_MS), 'h'], [Math.floor((ms % HOUR_MS) / MINUTE_MS), 'min']);
  return two([Math.floor(ms / DAY_MS), 'd'], [Math.floor((ms % DAY_MS) / HOUR_MS), 'h']);
}

function two([large, unit]: [number, string], [small, smaller]: [number, string]): string {
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smaller}`;
}

/** `in 29 min`, `4 s ago`. */
export function relative(atMs: number, nowMs: number): string {
  return atMs >= nowMs ? `in ${duration(atMs - nowMs)}` : `${duration(nowMs - atMs)} ago`;
}

/** `1 request`, `2 requests`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** What an allow would permit, in words. The names of material fields in it are the policy's own, which hide nothing. */
export function validityText(validity: Validity, bind: BindMode): string {
  switch (validity.kind) {
    case 'once':
      return 'this one operation, once';
    case 'window': {
      const uses = validity.uses === null ? 'any number of uses' : `up to ${count(validity.uses, 'use')}`;
      const time = validity.durationMs === null ? '' : ` within ${duration(validity.durationMs)}`;
      const sums = Object.entries(validity.total).map(([field, limit]) => `, ${field} up to ${limit} in all`);
      return `${uses}${time}${sums.join('')} ${BIND_TEXT[bind]}`;
    }
    default:
      return unreachable(validity);
  }
}

/** Which later calls a window covers. */
const BIND_TEXT: Readonly<Record<BindMode, string>> = {
  arguments: 'of calls with exactly these arguments',
  material: 'of calls with the same material fields, whatever their other arguments',
  tool: 'of any call of this tool by this requester, whatever its arguments',
};

/** Why people are asked again. */
export const CAUSE_TEXT: Readonly<Record<Exclude<OpeningCause, 'first'>, string>> = {
  argumentsChanged: 'the arguments are no longer those that were approved',
  resourceChanged: 'the resource changed after the approval',
  definitionChanged: "the tool's definition changed after the approval",
  ruleChanged: 'the rules changed after the approval',
  serverChanged: 'the server changed after the approval',
  reviewerChanged: 'somebody who approved may no longer do so',
  grantUnusable: 'the grant had ended, was revoked or was used up',
};

/** The first characters of a digest: enough to compare by eye, never a proof. */
export function brief(digest: string): string {
  return digest.replace(/^sha256:/, '').slice(0, 12);
}

/** What is to be known of an earlier operation beside how it ended. */
export function afterwardsText({ isError, reversed }: Pick<SimilarOperation, 'isError' | 'reversed'>): string {
  return `${isError === true ? ', the tool answered with an error' : ''}${reversed === true ? ', and was undone' : ''}`;
}
