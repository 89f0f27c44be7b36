import type { Kysely } from 'kysely';
import type { Columns, RowProblem } from './actual-rows';
import { compareColumns } from './audit-rows';
import { bodyOf } from './fact-columns';
import { textDigest } from './text-digest';
import type { Database } from './schema';

type Db = Kysely<Database>;

/** Compares the versions of the policy, and which one is active, with the facts of their activation. */
export async function comparePolicies(db: Db): Promise<{ rows: number; problems: readonly RowProblem[] }> {
  for (;;) {
    const expected = await appliedPolicies(db);
    const found = await storedPolicies(db);
    const problems = differences(expected, found);
    // A policy that was applied in between is no difference.
    const again = problems.length > 0 && (await appliedPolicies(db)).size !== expected.size;
    if (!again) return { rows: found.size, problems };
  }
}

async function appliedPolicies(db: Db): Promise<ReadonlyMap<number, Columns>> {
  const facts = await db
    .selectFrom('audit')
    .select(['at', 'body'])
    .where('kind', '=', 'policy.applied')
    .orderBy('seq')
    .execute();
  const policies = facts.map(({ at, body: given }): [number, Columns] => {
    const body = bodyOf(given);
    const { version, digest, compiled, fileName, by } = body;
    const columns = { digest, text: digest, compiled, file_name: fileName, applied_by: by, applied_at: at, active: 0 };
    return [Number(version), columns];
  });
  const last = policies.at(-1);
  return new Map(last === undefined ? [] : [...policies, [last[0], { ...last[1], active: 1 }]]);
}

async function storedPolicies(db: Db): Promise<ReadonlyMap<number, Columns>> {
  const versions = await db.selectFrom('policies').select('version').orderBy('version').execute();
  const policies = new Map<number, Columns>();
  for (const { version } of versions) {
    const row = await db.selectFrom('policies').selectAll().where('version', '=', version).executeTakeFirst();
    if (row === undefined) continue;
    policies.set(version, { ...row, text: textDigest(row.text), compiled: textDigest(row.compiled) });
  }
  return policies;
}

function differences(
  expected: ReadonlyMap<number, Columns>,
  found: ReadonlyMap<number, Columns>,
): readonly RowProblem[] {
  const problems: RowProblem[] = [];
  for (const [version, columns] of expected) {
    const row = `policies ${version}`;
    const stored = found.get(version);
    if (stored === undefined) problems.push({ row, detail: 'is missing, though the audit has it' });
    else problems.push(...compareColumns(row, columns, stored));
  }
  for (const version of found.keys()) {
    if (!expected.has(version)) problems.push({ row: `policies ${version}`, detail: 'is in no record of the audit' });
  }
  return problems;
}
