import { randomUUID } from 'node:crypto';
import { sql, type Kysely } from 'kysely';
import { AUDIT_CHAIN, ZERO_HASH } from '../audit-record';
import type { Store } from '../transaction';
import { APPEND_ONLY, POSTGRES_FUNCTIONS, appendOnlyTrigger } from './0001-guards';

/** How the two stores spell a type. Texts are compared by bytes on both, so that both sort alike. */
interface Spelling {
  readonly int: string;
  readonly flag: string;
  readonly text: string;
  readonly position: string;
  readonly end: string;
}

const SPELLINGS: Readonly<Record<Store['kind'], Spelling>> = {
  sqlite: {
    int: 'integer',
    flag: 'integer',
    text: 'text',
    position: 'integer primary key autoincrement',
    end: 'strict',
  },
  postgres: {
    int: 'bigint',
    flag: 'smallint',
    text: 'text collate "C"',
    position: 'bigint generated always as identity primary key',
    end: '',
  },
};

const INDEXES = [
  'create unique index policies_active on policies (active) where active = 1',
  "create unique index requests_short_id on requests (short_id) where state = 'pending'",
  'create index requests_due on requests (state, due_at)',
  'create index requests_requester on requests (requester_key, state)',
  'create unique index decisions_answer on decisions (operation_id, revision, reviewer, answer)',
  'create index grants_binding on grants (requester_key, binding_digest)',
  'create index grants_operation on grants (operation_id)',
  'create index operations_state on operations (state, lease_until)',
  'create index operations_similar on operations (similar_digest)',
  'create index audit_operation on audit (operation_id)',
  'create index deliveries_due on deliveries (endpoint, due_at) where delivered_at is null and given_up_at is null',
];

export async function createLedger(db: Kysely<unknown>, kind: Store['kind']): Promise<void> {
  const spelling = SPELLINGS[kind];
  const statements = [
    ...approvalTables(spelling),
    ...executionTables(spelling),
    ...recordTables(spelling),
    ...deliveryTables(spelling),
    ...INDEXES,
    ...(kind === 'postgres' ? POSTGRES_FUNCTIONS : []),
    ...APPEND_ONLY.flatMap((table) => appendOnlyTrigger(table, kind)),
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
  await sql`insert into audit_heads (chain, seq, hash) values (${AUDIT_CHAIN}, 0, ${ZERO_HASH})`.execute(db);
  await sql`insert into meta (key, value) values ('epoch', ${randomUUID()})`.execute(db);
}

function approvalTables({ int, flag, text, end }: Spelling): string[] {
  return [
    `create table policies (
      version ${int} primary key, digest ${text} not null, file_name ${text} not null, text ${text} not null,
      compiled ${text} not null, applied_by ${text} not null, applied_at ${int} not null,
      active ${flag} not null check (active in (0, 1))
    ) ${end}`,
    `create table requests (
      operation_id ${text} not null, revision ${int} not null check (revision >= 1),
      state ${text} not null
        check (state in ('pending', 'allowed', 'denied', 'expired', 'withdrawn', 'superseded', 'refused')),
      short_id ${text} not null, requester_key ${text} not null, subject ${text} not null, agent ${text} not null,
      server ${text} not null, tool ${text} not null, binding_digest ${text} not null,
      arguments_digest ${text} not null, workflow_id ${text} not null, call_id ${text} not null, rule_id ${text},
      card ${text} not null, level ${int} not null, opened_at ${int} not null, deadline_at ${int} not null,
      due_at ${int} not null, closed_at ${int}, closed_reason ${text},
      primary key (operation_id, revision)
    ) ${end}`,
    `create table decisions (
      decision_id ${text} primary key, operation_id ${text} not null, revision ${int} not null,
      reviewer ${text} not null, answer ${text} not null check (answer in ('allow', 'deny')), reason ${text},
      channel ${text} not null, verified ${flag} not null check (verified in (0, 1)), message ${text} not null,
      decided_at ${int} not null,
      foreign key (operation_id, revision) references requests (operation_id, revision)
    ) ${end}`,
  ];
}

function executionTables({ int, flag, text, end }: Spelling): string[] {
  return [
    `create table grants (
      grant_id ${text} primary key, operation_id ${text} not null, revision ${int} not null, once_for ${text},
      requester_key ${text} not null, subject ${text} not null, agent ${text} not null, server ${text} not null,
      tool ${text} not null, binding_digest ${text} not null, terms ${text} not null,
      uses ${int} not null check (uses >= 0), max_uses ${int} not null, totals ${text} not null,
      granted_at ${int} not null, expires_at ${int} not null, revoked_at ${int}, revoked_by ${text},
      revoked_reason ${text},
      check (uses <= max_uses)
    ) ${end}`,
    `create table operations (
      operation_id ${text} primary key,
      state ${text} not null check (state in ('dispatched', 'executed', 'failed', 'unknown')),
      revision ${int} not null, requester_key ${text} not null, subject ${text} not null, agent ${text} not null,
      server ${text} not null, tool ${text} not null, workflow_id ${text} not null, call_id ${text} not null,
      binding_digest ${text} not null, content_digest ${text} not null, similar_digest ${text} not null,
      grant_id ${text} references grants (grant_id), approval ${text}, policy_version ${int} not null, look_up ${text},
      attempt ${int} not null, absent_attempt ${int} not null, dispatched_at ${int} not null,
      lease_until ${int} not null, ended_at ${int}, result ${text}, result_digest ${text},
      result_is_error ${flag} check (result_is_error in (0, 1)), evidence ${text}, detail ${text}, settled_by ${text}
    ) ${end}`,
  ];
}

function recordTables({ int, text, end }: Spelling): string[] {
  return [
    `create table audit (
      seq ${int} primary key, at ${int} not null, kind ${text} not null, operation_id ${text}, body ${text} not null,
      prev_hash ${text} not null, hash ${text} not null
    ) ${end}`,
    `create table audit_heads (chain ${text} primary key, seq ${int} not null, hash ${text} not null) ${end}`,
    `create table checkpoints (
      seq ${int} primary key, hash ${text} not null, at ${int} not null, key_id ${text} not null,
      signature ${text} not null
    ) ${end}`,
    `create table meta (key ${text} primary key, value ${text} not null) ${end}`,
  ];
}

function deliveryTables({ int, text, position, end }: Spelling): string[] {
  return [
    `create table outbox (
      position ${position}, event_id ${text} not null unique, type ${text} not null, body ${text} not null,
      created_at ${int} not null
    ) ${end}`,
    `create table endpoints (endpoint ${text} primary key, position ${int} not null) ${end}`,
    `create table deliveries (
      endpoint ${text} not null, position ${int} not null references outbox (position), attempts ${int} not null,
      due_at ${int} not null, delivered_at ${int}, given_up_at ${int}, last_error ${text},
      primary key (endpoint, position)
    ) ${end}`,
  ];
}
