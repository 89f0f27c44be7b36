import type { Kysely } from 'kysely';
import type { Ask } from '../core/evaluation';
import { isJsonObject, parseStrictJson, type JsonObject } from '../core/json';
import { termsOf, type GrantRow } from './rows';
import type { Database } from './schema';

type Db = Kysely<Database>;

/** A grant with what is left of it. */
export interface GrantRecord {
  readonly grantId: string;
  readonly operationId: string;
  readonly revision: number;
  readonly once: boolean;
  readonly requester: { readonly subject: string; readonly agent: string };
  readonly server: string;
  readonly tool: string;
  readonly ask: Ask;
  readonly deciders: readonly string[];
  readonly verified: boolean;
  readonly uses: number;
  readonly maxUses: number;
  /** Sums used so far, by material field. */
  readonly totals: JsonObject;
  readonly grantedAtMs: number;
  readonly expiresAtMs: number;
  readonly revokedAtMs: number | null;
  readonly revokedBy: string | null;
  readonly revokedReason: string | null;
}

/** Grants that still permit something at `liveAtMs`, the first to end first; with null the latest 200, whatever they are. */
export async function listGrants(db: Db, liveAtMs: number | null): Promise<readonly GrantRecord[]> {
  const all = db.selectFrom('grants').selectAll();
  const rows =
    liveAtMs === null
      ? await all.orderBy('granted_at', 'desc').limit(200).execute()
      : await all
          .where('revoked_at', 'is', null)
          .where('expires_at', '>', liveAtMs)
          .whereRef('uses', '<', 'max_uses')
          .orderBy('expires_at')
          .execute();
  return rows.map(grantOf);
}

/** The grants whose id begins with `prefix`; at most ten. */
export async function findGrants(db: Db, prefix: string): Promise<readonly GrantRecord[]> {
  const rows = await db
    .selectFrom('grants')
    .selectAll()
    .where('grant_id', '>=', prefix)
    .where('grant_id', '<', `${prefix}\u{10ffff}`)
    .orderBy('grant_id')
    .limit(10)
    .execute();
  return rows.map(grantOf);
}

function grantOf(row: GrantRow): GrantRecord {
  const { ask, deciders, verified } = termsOf(row);
  return {
    grantId: row.grant_id,
    operationId: row.operation_id,
    revision: row.revision,
    once: row.once_for !== null,
    requester: { subject: row.subject, agent: row.agent },
    server: row.server,
    tool: row.tool,
    ask,
    deciders,
    verified,
    uses: row.uses,
    maxUses: row.max_uses,
    totals: totalsOf(row.totals),
    grantedAtMs: row.granted_at,
    expiresAtMs: row.expires_at,
    revokedAtMs: row.revoked_at,
    revokedBy: row.revoked_by,
    revokedReason: row.revoked_reason,
  };
}

function totalsOf(text: string): JsonObject {
  const json = parseStrictJson(text);
  return json.ok && isJsonObject(json.value) ? json.value : {};
}
