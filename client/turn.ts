import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowFailedError, type Client, type WorkflowHandle } from '@temporalio/client';
import { TerminatedFailure } from '@temporalio/common';
import type { CallOutcome } from '../core/outcome';
import { textForModel } from '../core/outcome-text';
import type { JsonValue } from '../core/json';
import { turnWorkflowId } from '../core/turn';
import type { CallResult, TurnEvent, TurnResult, TurnSnapshot } from '../core/turn-view';
import { snapshotQuery, withdrawSignal } from '../workflows/messages';
import { bounded } from './bounded';
import { holdpointError, HoldpointError } from './errors';
import { readStoredResult } from './stored-result';

/** One result for each call, in call order. */
export interface TurnCallResult {
  readonly callId: string;
  readonly operationId: string;
  readonly outcome: CallOutcome['outcome'];
  /** What to hand to the model; it says in words whether anything was executed. */
  readonly textForModel: string;
  /** The tool's whole CallToolResult where it executed and answered; else null. */
  readonly result: JsonValue;
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
  async snapshot(): Promise<TurnSnapshot> {
    const answer = await bounded(this.client, () => this.handle.query(snapshotQuery));
    if (answer.kind === 'answer') return answer.value;
    throw holdpointError('TURN_NO_ANSWER', { turn: this.id }, answer.cause);
  }

  /**
   * What happens in the turn, numbered, from the first event; ends with the turn. A consumer that stops reading loses
   * nothing: the next call starts from the first event again.
   */
  async *events(): AsyncGenerator<TurnEvent, void, void> {
    const ended = this.end().then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    );
    let seen = 0;
    for (let pauseMs = FIRST_POLL_MS; ;) {
      const over = await Promise.race([ended, delay(0, null)]);
      if (over !== null && 'error' in over) throw over.error;
      const events = over === null ? await this.eventsSoFar() : over.result.events;
      const fresh = events.filter((event) => event.number > seen);
      yield* fresh;
      seen += fresh.length;
      if (over !== null) return;
      pauseMs = fresh.length > 0 ? FIRST_POLL_MS : Math.min(pauseMs * 1.5, LONGEST_POLL_MS);
      await Promise.race([ended, delay(pauseMs)]);
    }
  }

  /** Waits for the turn's end: one result for each call, in call order. Throws where the whole turn was refused. */
  async results(): Promise<readonly TurnCallResult[]> {
    const { results, refusal } = await this.end();
    if (refusal !== null) throw new HoldpointError(refusal.code, refusal.detail);
    return Promise.all(results.map((result) => this.show(result)));
  }

  /** Takes back what was not sent: one call, or all of them. What was sent goes on to its outcome. */
  async withdraw(request: { readonly callId?: string; readonly reason?: string } = {}): Promise<void> {
    await this.handle.signal(withdrawSignal, request);
  }

  private async eventsSoFar(): Promise<readonly TurnEvent[]> {
    const answer = await bounded(this.client, () => this.handle.query(snapshotQuery)).catch(() => null);
    return answer?.kind === 'answer' ? answer.value.events : [];
  }

  /** The result of the turn's latest run: an operator's reset ends the run that was being awaited, not the turn. */
  private async end(): Promise<TurnResult> {
    for (let runId: string | undefined; ;) {
      try {
        return await this.handle.result();
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

  private async show({ callId, operationId, end }: CallResult): Promise<TurnCallResult> {
    const result = end.outcome === 'executed' ? await this.toolResult(operationId, end) : null;
    const whole: CallOutcome =
      end.outcome === 'executed' && result !== null && end.result !== null
        ? { ...end, result: { kind: 'inline', value: result, isError: end.result.isError } }
        : end;
    return { callId, operationId, outcome: end.outcome, textForModel: textForModel(whole, operationId), result, end };
  }

  private async toolResult(operationId: string, end: CallOutcome & { outcome: 'executed' }): Promise<JsonValue> {
    if (end.result === null) return null;
    if (end.result.kind === 'inline') return end.result.value;
    return readStoredResult(this.client, {
      ...this.at,
      operationId,
      bytes: end.result.bytes,
      digest: end.result.digest,
    });
  }
}
