import { LedgerError } from './ledger-error';

/** The part of the `node:sqlite` API that the ledger uses; two modules offer it. */
export interface SqliteDatabase {
  readonly isTransaction: boolean;
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

export interface SqliteStatement {
  all<R>(...parameters: readonly unknown[]): R[];
  run(...parameters: readonly unknown[]): { readonly changes: number | bigint };
  columns(): readonly unknown[];
}

export interface SqliteEngine {
  readonly name: string;
  readonly version: string;
  readonly open: (path: string, options?: SqliteOptions) => SqliteDatabase;
}

interface SqliteOptions {
  readonly readOnly?: boolean;
}

interface SqliteModule {
  readonly DatabaseSync: new (path: string, options?: SqliteOptions) => SqliteDatabase;
}

/** Earlier versions can corrupt a file when two connections reset its write-ahead log. */
const OLDEST_SAFE = '3.51.3';

let loaded: SqliteEngine | undefined;

/**
 * The SQLite of this process: Node's own where it is safe, else the packaged one. Always the same one, because two
 * builds in one process break each other's locks on a file.
 */
export async function sqliteEngine(): Promise<SqliteEngine> {
  loaded ??= nodeEngine() ?? (await packagedEngine());
  return loaded;
}

/** Whether a dotted version is the same as `needed` or later. */
export function isAtLeast(version: string, needed: string): boolean {
  const have = version.split('.').map(Number);
  const want = needed.split('.').map(Number);
  for (const [place, number] of want.entries()) {
    const found = have[place] ?? 0;
    if (found !== number) return found > number;
  }
  return true;
}

function nodeEngine(): SqliteEngine | undefined {
  const version = process.versions['sqlite'];
  if (version === undefined || !isAtLeast(version, OLDEST_SAFE)) return undefined;
  const found: unknown = withoutExperimentalWarning(() => process.getBuiltinModule('node:sqlite'));
  return isSqliteModule(found) ? engineOf('node:sqlite', found) : undefined;
}

async function packagedEngine(): Promise<SqliteEngine> {
  const engine = engineOf('@photostructure/sqlite', await import('@photostructure/sqlite'));
  if (isAtLeast(engine.version, OLDEST_SAFE)) return engine;
  throw new LedgerError('LEDGER_ENGINE', { engine: 'SQLite', needed: OLDEST_SAFE, version: engine.version });
}

function engineOf(name: string, { DatabaseSync }: SqliteModule): SqliteEngine {
  const probe = new DatabaseSync(':memory:');
  const [row] = probe.prepare('select sqlite_version() as version').all<{ readonly version: string }>();
  probe.close();
  return { name, version: row?.version ?? '0', open: (path, options = {}) => new DatabaseSync(path, options) };
}

function isSqliteModule(found: unknown): found is SqliteModule {
  return typeof found === 'object' && found !== null && 'DatabaseSync' in found;
}

/** Node calls its module experimental on stderr each time; everything that the ledger uses of it is tested here. */
function withoutExperimentalWarning<T>(load: () => T): T {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}
