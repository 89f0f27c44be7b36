import { Context } from '@temporalio/activity';
import {
  progressSince,
  withResultInStateUpTo,
  type CallState,
  type KnownRequest,
  type Progress,
} from '../core/call-state';
import type { Ending } from '../ledger/commands/outcomes';
import type { DecisionAnswer } from '../ledger/commands/record-decision';
import { LedgerError } from '../ledger/ledger-error';
import type { Dependencies } from './dependencies';
import { lookUpOutcome, type LookedUp } from './look-up-outcome';
import { RecheckAhead } from './recheck-ahead';
import { readResultChunk } from './read-result-chunk';
import type { ReadResult, ResultChunk } from '../workflows/messages';
import { openRequests, type OpenedTurn, type OpenInput } from './open-requests';
import { runTool, type Ran, type RunInput } from './run-tool';
import { whileBeating } from './while-beating';

export type { Dependencies } from './dependencies';
export type { DecisionAnswer } from '../ledger/commands/record-decision';
export type { LookedUp } from './look-up-outcome';
export type { OpenedTurn } from './open-requests';

/** Every activity is safe to run twice at the same time: the ledger's transactions are the authority. */
export interface Activities {
  openRequests(input: OpenInput): Promise<OpenedTurn>;
  recordDecision(input: { readonly message: unknown; readonly workflowId: string }): Promise<DecisionAnswer>;
  advanceRequests(known: readonly KnownRequest[]): Promise<readonly Progress[]>;
  withdrawCall(input: { readonly operationId: string; readonly reason: string }): Promise<CallState>;
  runTool(input: RunInput): Promise<Ran>;
  lookUpOutcome(operationId: string): Promise<LookedUp>;
  readResultChunk(input: ReadResult): Promise<ResultChunk | null>;
  recordOutcome(input: { readonly operationId: string; readonly ending: Ending }): Promise<CallState | null>;
}

export function createActivities(deps: Dependencies): Activities {
  const { ledger } = deps;
  const ahead = new RecheckAhead(deps);
  return {
    openRequests: (input) => whileBeating(() => openRequests(deps, input)),
    recordDecision: ({ message, workflowId }) =>
      whileBeating(async () => {
        const answer = await inTime(deps, ledger.recordDecision(message, workflowId));
        if (answer.state?.status === 'allowed' && answer.server !== undefined && answer.verdict.operationId !== null)
          // What fails here fails in the re-check as well, which tells.
          ahead.begin(answer.verdict.operationId, answer.server).catch(() => undefined);
        return withoutCard(answer);
      }),
    advanceRequests: (known) => inTime(deps, Promise.all(known.map((request) => advance(deps, request)))),
    withdrawCall: ({ operationId, reason }) => whileBeating(() => ledger.withdraw(operationId, reason)),
    runTool: (input) =>
      whileBeating(async () => {
        const ran = await runTool(deps, input, { listedSinceMs: ahead.takeSinceMs(input) });
        return { ...ran, state: withResultInStateUpTo(ran.state, input.resultBytes) };
      }),
    lookUpOutcome: (operationId) => whileBeating(() => lookUpOutcome(deps, operationId)),
    readResultChunk: (input) => whileBeating(() => readResultChunk(deps, input)),
    recordOutcome: ({ operationId, ending }) => whileBeating(() => ledger.recordOutcome(operationId, ending)),
  };
}

/** All in one group commit, and one answer in the history. */
async function advance({ ledger }: Dependencies, { operationId, revision }: KnownRequest): Promise<Progress> {
  return progressSince(await ledger.advanceRequest(operationId), revision);
}

/** A turn may be sent 200 decisions, and each answer stays in its history: it names a result and carries no card. */
function withoutCard({ verdict, state }: DecisionAnswer): DecisionAnswer {
  return { verdict, state: state === null || state.status === 'pending' ? null : withResultInStateUpTo(state, 0) };
}

/** Three attempts of it fit into what a client waits for an answer to its decision. */
const LOCAL_LIMIT_MS = 1_000;

/**
 * In a local activity, the answer of a command or, where a lock keeps it waiting, an error that names the ledger: the
 * activity's own time-out could not say what was waited for. The command may still be recorded afterwards.
 */
async function inTime<T>({ ledger: { store } }: Dependencies, command: Promise<T>): Promise<T> {
  if (!Context.current().info.isLocal) return command;
  const detail = `it gave no answer within ${LOCAL_LIMIT_MS} ms`;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const refuse = () => reject(new LedgerError('LEDGER_UNCERTAIN', { ledger: store.name, detail }));
    timer = setTimeout(refuse, LOCAL_LIMIT_MS);
  });
  return Promise.race([command, late]).finally(() => clearTimeout(timer));
}
