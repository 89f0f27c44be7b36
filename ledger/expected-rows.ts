import { isJsonObject, type JsonObject, type JsonValue } from '../core/json';
import {
  GRANTS,
  decisionKey,
  grantKey,
  operationKey,
  requestKey,
  retrospectiveKey,
  reversalKey,
  secondReviewKey,
  type Columns,
  type RowProblem,
} from './actual-rows';
import {
  bodyOf,
  decisionColumns,
  dispatchedColumns,
  exceeds,
  grantColumns,
  openedColumns,
  outcomeColumns,
  closedColumns,
  retrospectiveColumns,
  reversalColumns,
  secondReviewColumns,
  summed,
  text,
} from './fact-columns';

/** A fact as the audit has it. */
export interface RecordedFact {
  readonly seq: number;
  readonly at: number;
  readonly kind: string;
  readonly body: string;
}

/** Every kind of fact with which a row of one operation is written or changed. */
export const ROW_FACTS = [
  'request.opened',
  'request.escalated',
  'request.reminded',
  'request.allowed',
  'request.denied',
  'request.expired',
  'request.withdrawn',
  'request.refused',
  'request.stale',
  'decision.recorded',
  'grant.issued',
  'grant.used',
  'grant.revoked',
  'retrospective.opened',
  'retrospective.closed',
  'operation.reversed',
  'review.second',
  'operation.dispatched',
  'operation.dispatchedAgain',
  'operation.absent',
  'operation.executed',
  'operation.failed',
  'operation.unknown',
  'operation.settled',
] as const;

/**
 * What the rows of one operation have to be, told by its facts alone, in their order. Each command that writes a row
 * leaves a fact of the row's own operation, so nothing else has to be read.
 */
export class ExpectedRows {
  readonly #operationId: string;
  /** By `table key`. */
  readonly rows = new Map<string, Columns>();
  /** What no command does: it acted on a row that had been changed, whatever the row is now. */
  readonly faults: RowProblem[] = [];
  #latestRequest: string | null = null;
  /** The largest sums of each grant; its row holds them among its terms. */
  readonly #limits = new Map<string, JsonValue>();
  lastSeq = 0;

  constructor(operationId: string) {
    this.#operationId = operationId;
  }

  accept(fact: RecordedFact): void {
    this.lastSeq = fact.seq;
    this.#apply(fact.kind, bodyOf(fact.body), fact.at);
  }

  #apply(kind: string, body: JsonObject, at: number): void {
    switch (kind) {
      case 'request.opened':
        this.#latestRequest = this.#request(body);
        this.#write(this.#latestRequest, openedColumns(body, at));
        return;
      case 'request.escalated':
      case 'request.reminded':
        this.#change(this.#request(body), { level: body['level'], due_at: body['dueAtMs'] });
        return;
      case 'request.allowed':
      case 'request.denied':
      case 'request.expired':
      case 'request.withdrawn':
      case 'request.refused':
        this.#close(body, { at, state: kind.slice('request.'.length), reason: body['reason'] ?? null });
        return;
      case 'request.stale':
        this.#close(body, { at, state: 'superseded', reason: body['cause'] ?? null });
        return;
      case 'decision.recorded':
        this.#write(decisionKey(this.#decisionId(body)), decisionColumns(body, at));
        return;
      case 'grant.issued':
        this.#expectState(this.#request(body), ['allowed'], 'yielded a grant');
        this.#limits.set(grantKey(text(body, 'grantId')), body['total'] ?? null);
        this.#write(grantKey(text(body, 'grantId')), grantColumns(body, at));
        return;
      case 'grant.used':
        this.#use(grantKey(text(body, 'grantId')), at, body['amounts'] ?? null);
        return;
      case 'grant.revoked':
        this.#revoke(grantKey(text(body, 'grantId')), { at, by: body['by'], reason: body['reason'] });
        return;
      default:
        this.#applySent(kind, body, at);
        return;
    }
  }

  #applySent(kind: string, body: JsonObject, at: number): void {
    const key = operationKey(this.#operationId);
    switch (kind) {
      case 'operation.dispatched':
        if (this.#latestRequest !== null) this.#expectState(this.#latestRequest, ['allowed'], 'let its call be sent');
        this.#useOnce(body['approval'] ?? null, at);
        this.#write(key, dispatchedColumns(body, at));
        return;
      case 'operation.dispatchedAgain':
        this.#change(key, { attempt: body['attempt'] });
        return;
      case 'operation.absent':
        this.#change(key, { absent_attempt: body['attempt'] });
        return;
      case 'operation.executed':
      case 'operation.failed':
      case 'operation.unknown':
      case 'operation.settled':
        this.#end(key, body, at);
        return;
      default:
        this.#applyAfterwards(kind, body, at);
    }
  }

  /** What people say later of what was decided and done. */
  #applyAfterwards(kind: string, body: JsonObject, at: number): void {
    switch (kind) {
      case 'retrospective.opened':
        this.#write(retrospectiveKey(text(body, 'grantId')), retrospectiveColumns(body, at));
        return;
      case 'retrospective.closed':
        this.#change(retrospectiveKey(text(body, 'grantId')), closedColumns(body, at));
        return;
      case 'operation.reversed':
        this.#write(reversalKey(this.#operationId), reversalColumns(body, at));
        return;
      case 'review.second':
        this.#write(secondReviewKey(this.#operationId, Number(body['revision'])), secondReviewColumns(body, at));
        return;
      default:
    }
  }

  #end(key: string, body: JsonObject, at: number): void {
    // What was concluded from an absence gives way to proof of the effect.
    const mayEnd = body['outcome'] === 'executed' ? ['dispatched', 'unknown', 'failed'] : ['dispatched', 'unknown'];
    this.#expectState(key, mayEnd, `ended as ${text(body, 'outcome')}`);
    this.#change(key, outcomeColumns(body, at));
  }

  #request(body: JsonObject): string {
    return requestKey(this.#operationId, Number(body['revision']));
  }

  #decisionId(body: JsonObject): string {
    return `${this.#operationId}.${text(body, 'revision')}.${text(body, 'reviewer')}.${text(body, 'answer')}`;
  }

  #close(body: JsonObject, end: { at: number; state: string; reason: JsonValue }): void {
    const key = this.#request(body);
    const before = this.rows.get(key)?.['state'];
    const isDecision = end.state === 'allowed' || end.state === 'denied';
    this.#expectState(key, isDecision ? ['pending'] : ['pending', 'allowed'], `became ${end.state}`);
    this.#change(key, { state: end.state, closed_at: end.at, closed_reason: end.reason });
    if (before === 'allowed') this.#endGrants(body, end);
  }

  /** The `once` grant ends with its call; a superseded revision takes its window along as well. */
  #endGrants(body: JsonObject, end: { at: number; state: string; reason: JsonValue }): void {
    for (const [key, grant] of this.rows) {
      const ends = grant['revision'] === body['revision'] && (grant['once'] === true || end.state === 'superseded');
      if (!key.startsWith(GRANTS) || !ends || grant['revoked_at'] !== null) continue;
      this.#revoke(key, { at: end.at, by: 'holdpoint', reason: end.reason ?? end.state });
    }
  }

  #revoke(
    key: string,
    { at, by, reason }: { at: number; by: JsonValue | undefined; reason: JsonValue | undefined },
  ): void {
    this.#change(key, { revoked_at: at, revoked_by: by, revoked_reason: reason });
  }

  /** The use of a window is a fact of its own; a `once` grant is used by the operation that it is for. */
  #useOnce(approval: JsonValue, at: number): void {
    if (approval === null || !isJsonObject(approval) || approval['operationId'] !== this.#operationId) return;
    const key = grantKey(text(approval, 'grantId'));
    if (this.rows.get(key)?.['once'] !== false) this.#use(key, at, {});
  }

  /** Counted here, and not read from the facts: a row whose uses were set back would be believed. */
  #use(key: string, at: number, amounts: JsonValue): void {
    const grant = this.rows.get(key);
    const uses = Number(grant?.['uses'] ?? 0) + 1;
    const maxUses = Number(grant?.['max_uses'] ?? 0);
    if (uses > maxUses) this.#fault(key, `was used ${uses} times, where ${maxUses} were allowed`);
    if (at >= Number(grant?.['expires_at'] ?? 0)) this.#fault(key, 'was used after its end');
    if (grant?.['revoked_at'] !== null) this.#fault(key, 'was used although it was revoked, or never issued');
    if (grant === undefined) return;
    const totals = summed(text(grant, 'totals'), amounts);
    if (exceeds(totals, this.#limits.get(key) ?? null)) this.#fault(key, `was used for ${totals}, beyond its limits`);
    this.#change(key, { uses, totals });
  }

  #expectState(key: string, states: readonly string[], event: string): void {
    const row = this.rows.get(key);
    const state = row === undefined ? 'not on record' : text(row, 'state');
    if (!states.includes(state)) this.#fault(key, `${event} when it was ${state}`);
  }

  #fault(row: string, detail: string): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push({ row, detail });
  }

  #write(key: string, columns: Columns): void {
    if (this.rows.has(key)) this.#fault(key, 'was written twice');
    this.rows.set(key, columns);
  }

  #change(key: string, columns: Columns): void {
    const before = this.rows.get(key);
    if (before === undefined) this.#fault(key, 'was changed, though no record of the audit begins it');
    else this.rows.set(key, { ...before, ...columns });
  }
}

/** Of one operation. */
const MAX_FAULTS = 100;
