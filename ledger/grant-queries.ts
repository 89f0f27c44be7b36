import type { Kysely } from 'kysely';
import type { Ask } from '../core/evaluation';
import { couldStillCover } from '../core/grant';
import { isJsonObject, parseStrictJson, type JsonObject } from '../core/json';
import type { Policy } from '../core/policy';
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

/** The latest 200 grants, whatever they are. */
export async function latestGrants(db: Db): Promise<readonly GrantRecord[]> {
  const rows = await db.selectFrom('grants').selectAll().orderBy('granted_at', 'desc').limit(200).execute();
  return rows.map(grantOf);
}

/** Grants that still permit something at `atMs` under the active policy, the first to end first. */
export async function liveGrants(db: Db, atMs: number, policy: Policy | null): Promise<readonly GrantRecord[]> {
  const rows = await db
    .selectFrom('grants')
    .selectAll()
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', atMs)
    .whereRef('uses', '<', 'max_uses')
    .orderBy('expires_at')
    .execute();
  return policy === null ? [] : rows.map(grantOf).filter((grant) => couldStillCover(policy, grant));
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
