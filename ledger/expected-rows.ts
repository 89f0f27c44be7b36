import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../core/json';
import { GRANTS, decisionKey, grantKey, operationKey, requestKey, type Columns } from './actual-rows';

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
  'operation.dispatched',
  'operation.dispatchedAgain',
  'operation.absent',
  'operation.executed',
  'operation.failed',
  'operation.unknown',
  'operation.settled',
] as const;

type RowFact = (typeof ROW_FACTS)[number];

/**
 * What the rows of one operation have to be, told by its facts alone, in their order. Each command that writes a row
 * leaves a fact of the row's own operation, so nothing else has to be read.
 */
export class ExpectedRows {
  readonly #operationId: string;
  /** By `table key`. */
  readonly rows = new Map<string, Columns>();
  lastSeq = 0;

  constructor(operationId: string) {
    this.#operationId = operationId;
  }

  accept(fact: RecordedFact): void {
    this.lastSeq = fact.seq;
    const body = bodyOf(fact);
    // One of another kind is not asked for.
    this.#apply(fact.kind as RowFact, body, fact.at);
  }

  #apply(kind: RowFact, body: JsonObject, at: number): void {
    switch (kind) {
      case 'request.opened':
        return this.#write(this.#request(body), openedColumns(body, at));
      case 'request.escalated':
      case 'request.reminded':
        return this.#change(this.#request(body), { level: body['level'], due_at: body['dueAtMs'] });
      case 'request.allowed':
      case 'request.denied':
      case 'request.expired':
      case 'request.withdrawn':
      case 'request.refused':
        return this.#close(body, { at, state: kind.slice('request.'.length), reason: body['reason'] ?? null });
      case 'request.stale':
        return this.#close(body, { at, state: 'superseded', reason: body['cause'] ?? null });
      case 'decision.recorded':
        return this.#write(decisionKey(this.#decisionId(body)), decisionColumns(body, at));
      case 'grant.issued':
        return this.#write(grantKey(text(body, 'grantId')), grantColumns(body, at));
      case 'grant.used':
        return this.#change(grantKey(text(body, 'grantId')), {
          uses: body['use'],
          totals: canonicalJson(body['totals'] ?? null),
        });
      case 'grant.revoked':
        return this.#revoke(grantKey(text(body, 'grantId')), { at, by: body['by'], reason: body['reason'] });
      default:
        return this.#applySent(kind, body, at);
    }
  }

  #applySent(kind: RowFact, body: JsonObject, at: number): void {
    const key = operationKey(this.#operationId);
    switch (kind) {
      case 'operation.dispatched':
        this.#useOnce(body['approval'] ?? null);
        return this.#write(key, dispatchedColumns(body, at));
      case 'operation.dispatchedAgain':
        return this.#change(key, { attempt: body['attempt'] });
      case 'operation.absent':
        return this.#change(key, { absent_attempt: body['attempt'] });
      default:
        return this.#change(key, outcomeColumns(body, at));
    }
  }

  #request(body: JsonObject): string {
    return requestKey(this.#operationId, Number(body['revision']));
  }

  #decisionId(body: JsonObject): string {
    return `${this.#operationId}.${String(body['revision'])}.${text(body, 'reviewer')}.${text(body, 'answer')}`;
  }

  #close(body: JsonObject, end: { at: number; state: string; reason: JsonValue }): void {
    const key = this.#request(body);
    const before = this.rows.get(key)?.['state'];
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

  #revoke(key: string, { at, by, reason }: { at: number; by: Value; reason: Value }): void {
    this.#change(key, { revoked_at: at, revoked_by: by, revoked_reason: reason });
  }

  /** The use of a window is a fact of its own; a `once` grant is used by the operation that it is for. */
  #useOnce(approval: JsonValue): void {
    if (approval === null || !isJsonObject(approval)) return;
    const key = grantKey(text(approval, 'grantId'));
    if (this.rows.get(key)?.['once'] === true) this.#change(key, { uses: 1 });
  }

  #write(key: string, columns: Columns): void {
    this.rows.set(key, columns);
  }

  #change(key: string, columns: Columns): void {
    this.rows.set(key, { ...this.rows.get(key), ...columns });
  }
}

type Value = JsonValue | undefined;

function openedColumns(body: JsonObject, at: number): Columns {
  return {
    state: 'pending',
    binding_digest: body['bindingDigest'],
    card: body['card'],
    row: body['row'],
    level: body['level'],
    opened_at: at,
    deadline_at: body['deadlineAtMs'],
    due_at: body['dueAtMs'],
    closed_at: null,
    closed_reason: null,
  };
}

function decisionColumns(body: JsonObject, at: number): Columns {
  return {
    revision: body['revision'],
    reviewer: body['reviewer'],
    answer: body['answer'],
    reason: body['reason'],
    channel: body['channel'],
    verified: body['signature'] === 'valid' ? 1 : 0,
    message: body['message'],
    decided_at: at,
  };
}

function grantColumns(body: JsonObject, at: number): Columns {
  return {
    revision: body['revision'],
    once: body['once'],
    terms: body['terms'],
    row: body['row'],
    uses: 0,
    max_uses: body['uses'],
    totals: '{}',
    granted_at: at,
    expires_at: body['expiresAtMs'],
    revoked_at: null,
    revoked_by: null,
    revoked_reason: null,
  };
}

function dispatchedColumns(body: JsonObject, at: number): Columns {
  const approval = body['approval'] ?? null;
  return {
    row: body['row'],
    binding_digest: body['bindingDigest'],
    content_digest: body['contentDigest'],
    policy_version: body['policyVersion'],
    approval: approval === null ? null : canonicalJson(approval),
    attempt: body['attempt'],
    absent_attempt: 0,
    dispatched_at: at,
    ...outcomeColumns({ outcome: 'dispatched' }, null),
  };
}

function outcomeColumns(body: JsonObject, at: number | null): Columns {
  const isError = body['isError'] ?? null;
  return {
    state: body['outcome'],
    ended_at: at,
    result: body['resultDigest'] ?? null,
    result_digest: body['resultDigest'] ?? null,
    result_is_error: isError === null ? null : Number(isError),
    evidence: body['evidence'] ?? null,
    detail: body['detail'] ?? null,
    settled_by: body['settledBy'] ?? null,
  };
}

/** A body that is none is found by its hash; here it says nothing. */
export function bodyOf({ body }: Pick<RecordedFact, 'body'>): JsonObject {
  try {
    const value = JSON.parse(body) as JsonValue;
    return value !== null && isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

function text(body: JsonObject, name: string): string {
  return String(body[name]);
}
