import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowFailedError, type Client, type WorkflowHandle } from '@temporalio/client';
import { TerminatedFailure } from '@temporalio/common';
import type { CallOutcome } from '../core/outcome';
import { textForModel } from '../core/outcome-text';
import type { JsonValue } from '../core/json';
import { turnWorkflowId } from '../core/turn';
import type { ApprovalRequest } from '../core/request';
import {
  unpackEvents,
  unpackSnapshot,
  type FindRequest,
  type PackedEvent,
  type TurnResult,
} from '../core/turn-packing';
import type { CallResult, TurnEvent, TurnSnapshot } from '../core/turn-view';
import { snapshotQuery, withdrawSignal } from '../workflows/messages';
import { bounded } from './bounded';
import { decoded } from './decoded';
import { holdpointError, HoldpointError } from './errors';
import { readStoredRequest, readStoredResult } from './stored-result';
import { temporalError, typed } from './temporal-error';
import { untilClosed } from './until-closed';

/** One result for each call, in call order. */
export interface TurnCallResult {
  readonly callId: string;
  readonly operationId: string;
  readonly outcome: CallOutcome['outcome'];
  /** What to hand to the model; it says in words whether anything was executed. */
  readonly textForModel: string;
  /** The tool's whole CallToolResult where it executed and answered; else null. */
  readonly result: JsonValue;
  /** For programs and operators: a `detail` may be in a server's own words, which are no text for a model. */
  readonly end: CallOutcome;
}

/** Which turn: its id, its requester's subject, and the task queue of its workers. */
export interface TurnPlace {
  readonly turnId: string;
  readonly subject: string;
  readonly taskQueue: string;
}

const FIRST_POLL_MS = 100;
const LONGEST_POLL_MS = 1_000;

/** A turn that is under way or has ended. It goes on without the runtime: attach again by id after a crash. */
export class Turn {
  readonly workflowId: string;
  private readonly client: Client;
  private readonly at: TurnPlace;
  /** Requests of this turn by operation and revision; a revision never changes. */
  private readonly requests = new Map<string, ApprovalRequest>();

  constructor(client: Client, at: TurnPlace) {
    this.client = client;
    this.at = at;
    this.workflowId = turnWorkflowId(at.subject, at.turnId);
  }

  get id(): string {
    return this.at.turnId;
  }

  private get handle(): WorkflowHandle<() => Promise<TurnResult>> {
    return this.client.workflow.getHandle(this.workflowId);
  }

  /** Where the turn stands now. Throws TURN_NO_ANSWER where no worker answers in 5 s. */
  snapshot(): Promise<TurnSnapshot> {
    return typed(this.id, () => this.askSnapshot());
  }

  private async askSnapshot(): Promise<TurnSnapshot> {
    const answer = await bounded(this.client, () => this.handle.query(snapshotQuery));
    if (answer.kind === 'answer') {
      const { requiredActions, earlierRequests } = answer.value;
      return unpackSnapshot(answer.value, this.finder([...requiredActions, ...earlierRequests]));
    }
    throw holdpointError('TURN_NO_ANSWER', { turn: this.id }, answer.cause);
  }

  /**
   * What happens in the turn, numbered, from the first event; ends with the turn. A worker that is away is waited for. A
   * consumer that stops reading loses nothing: the next call starts from the first event again.
   */
  async *events(): AsyncGenerator<TurnEvent, void, void> {
    const listening = new AbortController();
    try {
      yield* this.eventsUntilEnd(listening.signal);
    } catch (error) {
      throw temporalError(error, this.id);
    } finally {
      listening.abort();
    }
  }

  private async *eventsUntilEnd(signal: AbortSignal): AsyncGenerator<TurnEvent, void, void> {
    const ended = this.end(signal).then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    );
    let seen = 0;
    for (let pauseMs = FIRST_POLL_MS; ;) {
      const over = await Promise.race([ended, delay(0, null)]);
      if (over !== null && 'error' in over) throw over.error;
      const events = over === null ? await this.eventsSoFar() : over.result.events;
      const find = this.finder(over?.result.requests ?? []);
      const fresh = await unpackEvents(
        events.filter((event) => event.number > seen),
        find,
      );
      yield* fresh;
      seen += fresh.length;
      if (over !== null) return;
      pauseMs = fresh.length > 0 ? FIRST_POLL_MS : Math.min(pauseMs * 1.5, LONGEST_POLL_MS);
      await Promise.race([ended, delay(pauseMs)]);
    }
  }

  /** Waits for the turn's end: one result for each call, in call order. Throws where the whole turn was refused. */
  async results(): Promise<readonly TurnCallResult[]> {
    return typed(this.id, async () => {
      const { results, refusal } = await this.end();
      if (refusal !== null) throw new HoldpointError(refusal.code, refusal.detail);
      return Promise.all(results.map((result) => this.show(result)));
    });
  }

  /**
   * Takes back what was not sent: one call, or all of them. What was sent goes on to its outcome. Throws
   * TEMPORAL_UNREACHABLE where no server took it in 5 s: sending it again is safe.
   */
  async withdraw(request: { readonly callId?: string; readonly reason?: string } = {}): Promise<void> {
    const sent = await typed(this.id, () => bounded(this.client, () => this.handle.signal(withdrawSignal, request)));
    if (sent.kind === 'answer') return;
    throw holdpointError('TEMPORAL_UNREACHABLE', { detail: 'no answer in 5 s' }, sent.cause);
  }

  private async eventsSoFar(): Promise<readonly PackedEvent[]> {
    const answer = await bounded(this.client, () => this.handle.query(snapshotQuery));
    // The worker is away for now; the turn's end tells as well.
    if (answer.kind !== 'answer') return [];
    this.finder([...answer.value.requiredActions, ...answer.value.earlierRequests]);
    return answer.value.events;
  }

  /** Finds requests among those that travelled with the turn, so far or now, and else in the ledger. */
  private finder(travelled: readonly ApprovalRequest[]): FindRequest {
    for (const request of travelled) this.requests.set(`${request.operationId}.${request.revision}`, request);
    return async (operationId, revision) => {
      const known = this.requests.get(`${operationId}.${revision}`);
      const found = known ?? (await readStoredRequest(this.client, { ...this.stored(operationId), revision }));
      this.requests.set(`${operationId}.${revision}`, found);
      return found;
    };
  }

  private stored(operationId: string) {
    const { subject, taskQueue } = this.at;
    return { operationId, subject, taskQueue };
  }

  /**
   * The result of the turn's latest run: an operator's reset ends the run that was being awaited, not the turn. Where
   * `signal` aborts, nothing of the wait is left behind.
   */
  private async end(signal?: AbortSignal): Promise<TurnResult> {
    for (let runId: string | undefined; ;) {
      try {
        return decoded(await (signal === undefined ? this.handle.result() : this.resultUnless(signal)));
      } catch (error) {
        if (!(error instanceof WorkflowFailedError)) throw error;
        const latest = (await this.handle.describe()).runId;
        const reset = error.cause instanceof TerminatedFailure && latest !== runId;
        if (!reset)
          throw holdpointError('TURN_ENDED_EARLY', { turn: this.id, detail: String(error.cause?.message) }, error);
        runId = latest;
      }
    }
  }

  private async resultUnless(signal: AbortSignal): Promise<TurnResult> {
    // What a poll could not tell, the question for the result does, in the client's own errors.
    await untilClosed(this.client, this.workflowId, signal).catch(() => undefined);
    signal.throwIfAborted();
    return this.client.withAbortSignal(signal, () => this.handle.result());
  }

  private async show({ callId, operationId, end }: CallResult): Promise<TurnCallResult> {
    const whole = await this.whole(operationId, end);
    const shown = whole.outcome === 'executed' && whole.result?.kind === 'inline' ? whole.result.value : null;
    const text = textForModel(whole, operationId);
    return { callId, operationId, outcome: end.outcome, textForModel: text, result: shown, end };
  }

  /** The end with its result in it, however it travelled. */
  private async whole(operationId: string, end: CallOutcome): Promise<CallOutcome> {
    if (end.outcome !== 'executed' || end.result?.kind !== 'stored') return end;
    const { digest } = end.result;
    const value = await readStoredResult(this.client, { ...this.stored(operationId), digest });
    return { ...end, result: { ...end.result, kind: 'inline', value } };
  }
}
