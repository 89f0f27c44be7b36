import type { CompiledQuery } from 'kysely';
import type { Policy } from '../../core/policy';
import { canonicalJson } from '../../core/json';
import { jsonOf } from '../../core/json-record';
import { textDigest } from '../text-digest';
import { compiledOf } from '../rows';
import type { Store, Tx } from '../transaction';

export interface ActivePolicy {
  readonly version: number;
  readonly digest: string;
  readonly appliedBy: string;
  readonly appliedAtMs: number;
  readonly policy: Policy;
}

export interface NewPolicy {
  readonly text: string;
  readonly fileName: string;
  readonly policy: Policy;
  readonly by: string;
}

/** Makes `policy` the active one; the same text again changes nothing and answers the version in force. */
export async function applyPolicy(
  tx: Tx,
  { text, fileName, policy, by }: NewPolicy,
): Promise<{ version: number; changed: boolean }> {
  const digest = textDigest(text);
  const active = await tx.db
    .selectFrom('policies')
    .select(['version', 'digest'])
    .where('active', '=', 1)
    .executeTakeFirst();
  if (active?.digest === digest) return { version: active.version, changed: false };
  const last = await tx.db
    .selectFrom('policies')
    .select((eb) => eb.fn.max('version').as('version'))
    .executeTakeFirst();
  const version = (last?.version ?? 0) + 1;
  const compiled = canonicalJson(jsonOf(policy));
  await tx.db.updateTable('policies').set({ active: 0 }).where('active', '=', 1).execute();
  await tx.db
    .insertInto('policies')
    .values({
      version,
      digest,
      file_name: fileName,
      text,
      compiled,
      applied_by: by,
      applied_at: tx.nowMs,
      active: 1,
    })
    .execute();
  tx.fact({
    kind: 'policy.applied',
    operationId: null,
    body: { version, digest, compiled: textDigest(compiled), fileName, by, previous: active?.version ?? null },
  });
  return { version, changed: true };
}

/** Reads the active policy; each version is parsed once. Its compiled form must match what was applied. */
export function createPolicyReader(): (db: Store['db'] | Tx['db']) => Promise<ActivePolicy | null> {
  let cached: ActivePolicy | null = null;
  // Asked for with each call of an agent, so it is compiled once.
  let question: CompiledQuery<{ readonly version: number; readonly digest: string }> | undefined;
  return async (db) => {
    question ??= db.selectFrom('policies').select(['version', 'digest']).where('active', '=', 1).compile();
    const [head] = (await db.executeQuery(question)).rows;
    if (head === undefined) return null;
    if (cached?.version === head.version && cached.digest === head.digest) return cached;
    const row = await db
      .selectFrom('policies')
      .selectAll()
      .where('version', '=', head.version)
      .executeTakeFirstOrThrow();
    cached = {
      version: row.version,
      digest: row.digest,
      appliedBy: row.applied_by,
      appliedAtMs: row.applied_at,
      policy: compiledOf(row),
    };
    return cached;
  };
}
