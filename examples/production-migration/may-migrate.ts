import { argumentsDigest, PERMIT_META_KEY, verifyPermit } from '../../client/tool';
import type { PermitKeys } from '../../client/tool';
import type { Environment } from './seed';

export interface Migration {
  readonly environment: Environment;
  readonly sql: string;
  readonly operation_id: string;
}

export interface MigrationRules {
  /** The name of this server in the policy. */
  readonly serverName: string;
  /** Undefined: no keys were given, so no permit can count. */
  readonly keys: PermitKeys | undefined;
}

export type Admission = { readonly ok: true } | { readonly ok: false; readonly detail: string };

/** Who may migrate what, as this system sees it; an approval elsewhere does not change it. */
const MIGRATORS: Readonly<Record<string, readonly Environment[]>> = {
  'user:amira': ['staging', 'production'],
  'user:bo': ['staging'],
};

/**
 * This server's own decision. The permit proves for whom the call is made and that it is this very call: tool, operation
 * and arguments. Whether that requester may do it is decided here; and production wants an approval on record.
 */
export async function mayMigrate(
  meta: Readonly<Record<string, unknown>> | undefined,
  migration: Migration,
  { serverName, keys }: MigrationRules,
): Promise<Admission> {
  if (keys === undefined) return refused('this server was started without keys, so it cannot check permits');
  const verdict = await verifyPermit(meta?.[PERMIT_META_KEY], {
    keys,
    expect: {
      server: serverName,
      tool: 'apply_migration',
      operationId: migration.operation_id,
      argumentsDigest: argumentsDigest({ ...migration }),
    },
  });
  if (!verdict.ok) return refused(verdict.detail);
  const { requester, request } = verdict.permit;
  const { environment } = migration;
  if (!(MIGRATORS[requester.subject] ?? []).includes(environment)) {
    return refused(`${requester.subject} may not migrate ${environment}`);
  }
  if (environment === 'production' && request === null) return refused('production is migrated after an approval only');
  return { ok: true };
}

function refused(detail: string): Admission {
  return { ok: false, detail };
}
