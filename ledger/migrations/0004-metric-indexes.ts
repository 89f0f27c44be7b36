import { sql, type Kysely } from 'kysely';

const STATEMENTS = [
  // Whether the same was asked before, and was denied: for metrics, and for the brake on repeated denials.
  'create index requests_binding on requests (binding_digest, opened_at)',
  "create index requests_denied on requests (binding_digest, closed_at) where state = 'denied'",
  // Grants that may still permit something are few among all that ever were.
  'create index grants_live on grants (expires_at) where revoked_at is null and uses < max_uses',
];

export async function addMetricIndexes(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
