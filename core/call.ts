import type { DeadlineSpec, EscalationLevel } from './policy';
import { TURN_LIMITS } from './turn';
import { unreachable } from './unreachable';

/** Every state of a call, as in the life of a call; the last seven are final but for `unknown`, which may be settled. */
export type CallStatus =
  | 'pending'
  | 'allowed'
  | 'dispatched'
  | 'executed'
  | 'failed'
  | 'unknown'
  | 'denied'
  | 'expired'
  | 'withdrawn'
  | 'refused';

/** When a request escalates, reminds and ends; part of what was asked, so a later policy does not move it. */
export interface Schedule {
  readonly escalate: readonly EscalationLevel[];
  readonly deadline: DeadlineSpec;
}

export interface CallLife {
  readonly status: CallStatus;
  readonly revision: number;
  readonly digest: string;
  readonly openedAtMs: number;
  readonly deadlineAtMs: number;
  /** Escalation levels reached; 0 = none. */
  readonly level: number;
  /** When the request next has something to do. Equals `deadlineAtMs` when nothing comes before it. */
  readonly dueAtMs: number;
  readonly schedule: Schedule;
}

export type CallEvent =
  | { readonly type: 'wake' }
  | { readonly type: 'allow' | 'deny'; readonly revision: number; readonly digest: string }
  | { readonly type: 'withdraw' }
  | { readonly type: 'refuse' }
  | { readonly type: 'noReviewers' }
  | { readonly type: 'stale'; readonly digest: string; readonly schedule: Schedule }
  | { readonly type: 'dispatch' }
  | { readonly type: 'answer' | 'absence' | 'noAnswer' };

/** A request that nobody answers under `keepWaiting` ends after 30 days, not executed. */
export const LONGEST_WAIT_MS = 30 * 24 * 3_600_000;

/** The life of a request opened at `nowMs`. */
export function open(request: { revision: number; digest: string; schedule: Schedule }, nowMs: number): CallLife {
  const { deadline } = request.schedule;
  const waitMs = deadline.then === 'keepWaiting' ? LONGEST_WAIT_MS : deadline.afterMs;
  const life = { ...request, status: 'pending', openedAtMs: nowMs, deadlineAtMs: nowMs + waitMs, level: 0 } as const;
  return { ...life, dueAtMs: nextDueAt(life, nowMs) };
}

/**
 * The life of a call after `event`. An event that the state does not admit changes nothing, a decided call never changes
 * its decision, a decision about another revision or digest is ignored, and at the deadline (half-open: the deadline
 * itself is too late) a pending request is expired whatever arrives.
 * @param nowMs epoch milliseconds by the store's clock; core reads none.
 */
export function transition(life: CallLife, event: CallEvent, nowMs: number): CallLife {
  switch (life.status) {
    case 'pending':
      return nowMs >= life.deadlineAtMs ? { ...life, status: 'expired' } : whilePending(life, event, nowMs);
    case 'allowed':
      return whileAllowed(life, event, nowMs);
    case 'dispatched':
    case 'unknown':
      return afterDispatch(life, event);
    case 'executed':
    case 'failed':
    case 'denied':
    case 'expired':
    case 'withdrawn':
    case 'refused':
      return life;
    default:
      return unreachable(life.status);
  }
}

function whilePending(life: CallLife, event: CallEvent, nowMs: number): CallLife {
  switch (event.type) {
    case 'allow':
    case 'deny':
      if (event.revision !== life.revision || event.digest !== life.digest) return life;
      return { ...life, status: event.type === 'allow' ? 'allowed' : 'denied' };
    case 'withdraw':
      return { ...life, status: 'withdrawn' };
    case 'refuse':
      return { ...life, status: 'refused' };
    case 'noReviewers':
      return escalateOrRefuse(life, nowMs);
    case 'wake':
      return nowMs >= life.dueAtMs ? wake(life, nowMs) : life;
    default:
      return life;
  }
}

function whileAllowed(life: CallLife, event: CallEvent, nowMs: number): CallLife {
  switch (event.type) {
    case 'dispatch':
      return { ...life, status: 'dispatched' };
    case 'stale':
      if (life.revision >= TURN_LIMITS.revisions) return { ...life, status: 'refused' };
      return open({ revision: life.revision + 1, digest: event.digest, schedule: event.schedule }, nowMs);
    case 'withdraw':
      return { ...life, status: 'withdrawn' };
    case 'refuse':
      return { ...life, status: 'refused' };
    default:
      return life;
  }
}

function afterDispatch(life: CallLife, event: CallEvent): CallLife {
  switch (event.type) {
    case 'answer':
      return { ...life, status: 'executed' };
    case 'absence':
      return { ...life, status: 'failed' };
    case 'noAnswer':
      return { ...life, status: 'unknown' };
    default:
      return life;
  }
}

function wake(life: CallLife, nowMs: number): CallLife {
  const level = life.schedule.escalate.filter((step) => life.openedAtMs + step.afterMs <= nowMs).length;
  const reached = { ...life, level: Math.max(level, life.level) };
  return { ...reached, dueAtMs: nextDueAt(reached, nowMs) };
}

function escalateOrRefuse(life: CallLife, nowMs: number): CallLife {
  if (life.level >= life.schedule.escalate.length) return { ...life, status: 'refused' };
  const next = { ...life, level: life.level + 1 };
  return { ...next, dueAtMs: nextDueAt(next, nowMs) };
}

function nextDueAt(life: Omit<CallLife, 'dueAtMs'>, nowMs: number): number {
  const { escalate, deadline } = life.schedule;
  const levels = escalate.slice(life.level).map((step) => life.openedAtMs + step.afterMs);
  const reminder = nextReminderAt(life, deadline, nowMs);
  return Math.min(life.deadlineAtMs, ...levels, ...(reminder === null ? [] : [reminder]));
}

function nextReminderAt(life: Omit<CallLife, 'dueAtMs'>, deadline: DeadlineSpec, nowMs: number): number | null {
  if (deadline.then !== 'keepWaiting' || deadline.remindEveryMs === null) return null;
  const firstAtMs = life.openedAtMs + deadline.afterMs;
  if (nowMs < firstAtMs) return firstAtMs;
  const passed = Math.floor((nowMs - firstAtMs) / deadline.remindEveryMs) + 1;
  return firstAtMs + passed * deadline.remindEveryMs;
}
