import {
  ActivityFailure,
  ApplicationFailure,
  log,
  setDefaultSignalHandler,
  setHandler,
  type CancellationScope,
} from '@temporalio/workflow';
import type { Verdict, VerdictCode } from '../core/decision';
import { cut } from '../core/display';
import { TURN_LIMITS } from '../core/turn';
import type { DecisionAnswer } from '../activities';
import { judgedHere, recordDecision } from './activity-proxies';
import { advanceCalls } from './advance-calls';
import { collectFor } from './collect';
import {
  collectUpdate,
  decideSignal,
  decideUpdate,
  nudgeSignal,
  openedUpdate,
  snapshotQuery,
  withdrawSignal,
} from './messages';
import { snapshotOf, take, type Turn } from './turn-state';
import { readWithdrawal, withdrawCalls } from './withdrawal';

/**
 * Registers every message of a turn, before its first await. Handlers take what they get and never throw, also after the
 * turn was cancelled: one that threw then would end the turn without the outcomes that it still waits for.
 * @param shield a scope that cannot be cancelled.
 */
export function registerHandlers(turn: Turn, shield: CancellationScope): void {
  const decide = (message: unknown, keep: boolean) => shield.run(() => judge(turn, message, { keep }));
  const nudge = createNudge(turn);
  setHandler(snapshotQuery, () => snapshotOf(turn));
  setHandler(openedUpdate, async () => {
    await turn.whenOpened;
    return snapshotOf(turn);
  });
  setHandler(collectUpdate, async (message: unknown) => {
    collectFor(turn, message);
    await turn.whenOpened;
    return snapshotOf(turn);
  });
  setHandler(decideUpdate, (message: unknown) => decide(message, false));
  setHandler(decideSignal, async (message: unknown) => {
    await decide(message, true);
  });
  setHandler(withdrawSignal, (message: unknown) => shield.run(() => noteWithdrawal(turn, message)));
  setHandler(nudgeSignal, () => void shield.run(nudge));
  setDefaultSignalHandler(async (name: string) => {
    await decide({ unknownSignal: cut(name, 200) }, false);
  });
}

/** The ledger knows more than the turn (an accepted decision whose answer was lost): the rows are read again. */
function createNudge(turn: Turn): () => Promise<void> {
  let wanted = 0;
  return async () => {
    wanted += 1;
    // Another reading is at work, and sees the count.
    if (wanted > 1) return;
    for (let seen = 0; seen < wanted;) {
      seen = wanted;
      await advanceCalls(turn, turn.calls);
    }
    wanted = 0;
  };
}

async function judge(turn: Turn, message: unknown, { keep }: { keep: boolean }): Promise<Verdict> {
  if (!turn.opened) await turn.whenOpened;
  const size = sizeOf(message);
  if (isOverLimit(turn, size <= TURN_LIMITS.decisionBytes && namesCallOf(turn, message))) {
    return verdict('limit', `a turn judges at most ${TURN_LIMITS.judgedDecisions} decisions; its deadlines still hold`);
  }
  if (size > TURN_LIMITS.decisionBytes) {
    turn.ignored += 1;
    await answerFor(turn, { tooLargeBytes: size }, { keep: false });
    return verdict('tooLarge', `${size} bytes; a decision has at most ${TURN_LIMITS.decisionBytes}`);
  }
  return answerFor(turn, message, { keep });
}

/** What names no call has a limit of its own, so that junk keeps no reviewer's decision out. */
function isOverLimit(turn: Turn, namesCall: boolean): boolean {
  const counter = namesCall ? 'judged' : 'strays';
  if (turn[counter] >= TURN_LIMITS.judgedDecisions) return true;
  turn[counter] += 1;
  return false;
}

function namesCallOf(turn: Turn, message: unknown): boolean {
  if (typeof message !== 'object' || message === null || !('operationId' in message)) return false;
  return turn.calls.some((call) => call.operationId === message.operationId);
}

async function answerFor(turn: Turn, message: unknown, { keep }: { keep: boolean }): Promise<Verdict> {
  const input = { message, workflowId: turn.workflowId };
  try {
    return accept(turn, await judgedHere.recordDecision(input));
  } catch (error) {
    log.warn('decision not recorded', { error: String(error) });
    if (!keep) return verdict('notRecorded', `${reasonOf(error)} Send the same decision again: it counts once.`);
  }
  // A signal has nobody to tell, so it is kept and tried until the ledger answers.
  return accept(turn, await recordDecision(input));
}

/** The ledger's own words, which name it. */
function reasonOf(error: unknown): string {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof ApplicationFailure ? cause.message : 'The ledger gave no answer.';
}

function accept(turn: Turn, { verdict: given, state }: DecisionAnswer): Verdict {
  if (given.code === 'malformed') turn.ignored += 1;
  const call = turn.calls.find((entry) => entry.operationId === given.operationId);
  // A call that went on meanwhile keeps what it has: only a waiting one learns from a decision.
  if (call?.state.status === 'pending' && state !== null) take(turn, call, state);
  return given;
}

async function noteWithdrawal(turn: Turn, message: unknown): Promise<void> {
  const wanted = readWithdrawal(message);
  const named = turn.calls.filter((call) => wanted?.callId === undefined || call.proposed.id === wanted.callId);
  if (wanted === null || named.length === 0) turn.ignored += 1;
  else await withdrawCalls(turn, named, wanted.reason);
}

function verdict(code: VerdictCode, detail: string): Verdict {
  return { code, detail, operationId: null, revision: null, state: null, decidedBy: [], counted: null };
}

/** UTF-8 bytes of the message's JSON; what has no JSON has none. */
function sizeOf(message: unknown): number {
  return message === undefined ? 0 : new TextEncoder().encode(JSON.stringify(message)).length;
}
