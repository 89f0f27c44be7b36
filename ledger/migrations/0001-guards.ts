import { unreachable } from '../../core/unreachable';
import type { Store } from '../transaction';

/** Tables whose rows are never changed. */
export const APPEND_ONLY = ['audit', 'decisions', 'checkpoints'] as const;

/** Makes the store refuse a change of what was recorded. Who owns the database can drop it, so `audit verify` exists. */
export function appendOnlyTrigger(table: string, kind: Store['kind']): string[] {
  switch (kind) {
    case 'sqlite':
      return ['update', 'delete'].map(
        (change) =>
          `create trigger ${table}_no_${change} before ${change} on ${table}
           begin select raise(abort, '${table} is append-only'); end`,
      );
    case 'postgres':
      return [
        `create trigger ${table}_append_only before update or delete or truncate on ${table}
         for each statement execute function ledger_append_only()`,
      ];
    default:
      return unreachable(kind);
  }
}

export const POSTGRES_FUNCTIONS = [
  `create function ledger_append_only() returns trigger language plpgsql as $$
  begin
    raise exception '% is append-only', tg_table_name;
  end $$`,
  // The lock on the head is taken first, also for events alone: so seq and position both follow the order of commits.
  `create function ledger_append(
    p_chain text, p_at bigint, p_kinds text[], p_operations text[], p_bodies text[], p_digests text[],
    p_event_ids text[], p_event_types text[], p_event_bodies text[]
  ) returns bigint language plpgsql as $$
  declare
    v_seq bigint;
    v_hash text;
    v_prev text;
  begin
    select seq, hash into v_seq, v_hash from audit_heads where chain = p_chain for update;
    if not found then
      return null;
    end if;
    for i in 1 .. cardinality(p_kinds) loop
      v_seq := v_seq + 1;
      v_prev := v_hash;
      v_hash := encode(sha256(convert_to(
        p_chain || E'\\n' || v_seq || E'\\n' || v_prev || E'\\n' || p_digests[i], 'UTF8')), 'hex');
      insert into audit (seq, at, kind, operation_id, body, prev_hash, hash)
        values (v_seq, p_at, p_kinds[i], p_operations[i], p_bodies[i], v_prev, v_hash);
    end loop;
    if cardinality(p_kinds) > 0 then
      update audit_heads set seq = v_seq, hash = v_hash where chain = p_chain;
    end if;
    insert into outbox (event_id, type, body, created_at)
      select id, type, body, p_at
      from unnest(p_event_ids, p_event_types, p_event_bodies) with ordinality as event (id, type, body, nth)
      order by nth
      on conflict (event_id) do nothing;
    return v_seq;
  end $$`,
];
