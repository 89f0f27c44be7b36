import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generatePermitKey, jwksOf } from '../../activities/permit-key';
import type { PermitKey } from '../../activities/permit-key';
import { signPermit } from '../../activities/sign-permit';
import { createToolServers } from '../../activities/tool-servers';
import type { ToolServers } from '../../activities/tool-servers';
import type { ToolAnswer } from '../../activities/tool-server';
import { argumentsDigest } from '../../client/tool';
import type { JsonObject } from '../../core/json';
import type { Permit } from '../../core/permit';
import { parsePolicyFile } from '../../core/policy-file';
import { faultPath } from '../../examples/production-migration/fault';
import { startExampleServer } from '../../examples/production-migration/server';
import type { ExampleServer } from '../../examples/production-migration/server';
import { httpServerEntry } from '../support/server-entry';

const DROP = 'ALTER TABLE orders DROP COLUMN legacy_note';

let dataDir: string;
let key: PermitKey;
let example: ExampleServer;
let servers: ToolServers;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'example-'));
  key = await generatePermitKey();
  example = await startExampleServer({ dataDir, port: 0, keys: jwksOf(key) });
  servers = createToolServers({ resolveSecret: () => undefined, log: { warn: () => undefined } });
});
afterEach(async () => {
  await servers.closeAll();
  await example.close();
  await rm(dataDir, { recursive: true });
});

function call(name: string, args: JsonObject, meta?: JsonObject, timeoutMs = 5_000): Promise<ToolAnswer> {
  return servers.get(httpServerEntry(example.url)).callTool({ name, arguments: args, meta, timeoutMs });
}

const content = (answer: ToolAnswer) => (answer.kind === 'result' ? answer.result['structuredContent'] : answer);
const words = (answer: ToolAnswer) =>
  answer.kind === 'result' ? (answer.result['content'] as { text: string }[])[0]?.text : answer;

async function migrate({ sql = DROP, environment = 'production', timeoutMs = 5_000 } = {}, more: Partial<Permit> = {}) {
  const args = { environment, sql, operation_id: 'op_1' };
  const permit = await signPermit(permitFor(args, more), key);
  return call('apply_migration', args, { 'dev.holdpoint/permit': permit }, timeoutMs);
}

/** A good permit for the operation `op_1` with these arguments. */
function permitFor(args: JsonObject, more: Partial<Permit>): Permit {
  return {
    v: 1,
    id: 'op_1.1',
    requester: { subject: 'user:amira', agent: 'support-bot', chain: [] },
    server: 'orders-db',
    tool: 'apply_migration',
    operationId: 'op_1',
    bindingDigest: `sha256:${'0'.repeat(64)}`,
    argumentsDigest: argumentsDigest(args),
    resourceVersion: 7,
    request: { operationId: 'op_1', revision: 1 },
    deciders: ['dana'],
    askedRule: null,
    permittedRule: null,
    emergency: false,
    verified: true,
    issuedAtMs: Date.now(),
    expiresAtMs: Date.now() + 30_000,
    ...more,
  };
}

const version = async (environment = 'production') => content(await call('schema_version', { environment }));
const found = async () => content(await call('find_migration', { operation_id: 'op_1' }));

describe('the example server', () => {
  it('lists its tools with their hints', async () => {
    const listing = await servers.get(httpServerEntry(example.url)).listTools();
    if (!listing.ok) throw new Error(listing.detail);
    expect([...listing.tools].map(([name, { hints }]) => [name, hints.readOnly, hints.destructive])).toEqual([
      ['schema_version', true, null],
      ['describe_schema', true, null],
      ['plan_migration', true, null],
      ['apply_migration', false, true],
      ['find_migration', true, null],
      ['read_rows', true, null],
    ]);
  });

  it('reads rows, the schema and its version', async () => {
    expect(content(await call('read_rows', { environment: 'production', table: 'customers', limit: 1 }))).toEqual({
      rows: [{ id: 1, name: 'Noor', email: 'noor@example.com' }],
    });
    expect(words(await call('read_rows', { environment: 'production', table: 'sqlite_schema' }))).toBe(
      'there is no table sqlite_schema',
    );
    expect(content(await call('describe_schema', { environment: 'staging' }))).toMatchObject({
      version: 7,
      rows: { customers: 2, orders: 3 },
    });
  });

  it('plans a migration without a trace', async () => {
    const plan = await call('plan_migration', {
      environment: 'production',
      sql: `${DROP}; DELETE FROM orders WHERE id = 1`,
    });
    expect(words(plan)).toBe('- orders.legacy_note TEXT\n~ orders: 3 -> 2 rows');
    expect(content(await call('describe_schema', { environment: 'production' }))).toMatchObject({
      version: 7,
      rows: { orders: 3 },
      lines: expect.arrayContaining(['orders.legacy_note TEXT']) as unknown,
    });
  });

  it.each([
    'DROP TABLE orders; COMMIT; BEGIN',
    'ROLLBACK',
    'PRAGMA user_version = 99',
    "ATTACH 'orders-staging.db' AS other",
    'DELETE FROM holdpoint_operations',
    'DROP TABLE holdpoint_operations',
    'not sql',
  ])('neither plans nor applies %p', async (sql) => {
    expect(await call('plan_migration', { environment: 'production', sql })).toMatchObject({
      result: { isError: true },
    });
    expect(words(await migrate({ sql }))).toMatch(/^not applied: /);
    expect([await version(), await found()]).toEqual([
      { version: 7 },
      { applied: false, environment: null, appliedAt: null },
    ]);
  });

  it('applies a migration with its permit, moves the version, and finds it again', async () => {
    expect(content(await migrate())).toEqual({ applied: true, result: { version: 8 } });
    expect([await version(), await version('staging')]).toEqual([{ version: 8 }, { version: 7 }]);
    expect(await found()).toMatchObject({ applied: true, environment: 'production' });
  });

  it('gives the recorded result to the same operation again, and runs nothing', async () => {
    await migrate();
    expect(content(await migrate())).toEqual({ applied: true, result: { version: 8 } });
    expect(await version()).toEqual({ version: 8 });
  });

  it.each<{ name: string; more: Partial<Permit>; reason: RegExp }>([
    { name: 'that is over', more: { expiresAtMs: 1_000 }, reason: /expired/ },
    { name: 'for another tool', more: { tool: 'read_rows' }, reason: /its tool differs/ },
    { name: 'for another server', more: { server: 'billing-db' }, reason: /its server differs/ },
    { name: 'for another operation', more: { operationId: 'op_2' }, reason: /its operation differs/ },
    {
      name: 'for other arguments',
      more: { argumentsDigest: `sha256:${'1'.repeat(64)}` },
      reason: /its arguments digest differs/,
    },
    {
      name: 'of somebody who may not migrate here',
      more: { requester: { subject: 'user:bo', agent: 'support-bot', chain: [] } },
      reason: /user:bo may not migrate production/,
    },
    { name: 'without an approval', more: { request: null, deciders: [] }, reason: /after an approval only/ },
  ])('refuses a permit $name: an approval is not an authorisation', async ({ more, reason }) => {
    expect(words(await migrate({}, more))).toMatch(reason);
    expect(await version()).toEqual({ version: 7 });
  });

  it('refuses a call without a permit, and every call where it has no keys', async () => {
    const args = { environment: 'production', sql: DROP, operation_id: 'op_1' };
    expect(words(await call('apply_migration', args))).toMatch(/^refused: This is not a permit/);
    await example.close();
    example = await startExampleServer({ dataDir, port: 0 });
    expect(words(await migrate())).toMatch(/^refused: this server was started without keys/);
  });

  it.each([
    { fault: 'commitThenSilent', kind: 'ambiguous', after: 8 },
    { fault: 'commitThenClose', kind: 'ambiguous', after: 8 },
    { fault: 'hang', kind: 'ambiguous', after: 7 },
  ])('goes wrong once as it is told: $fault', async ({ fault, kind, after }) => {
    await writeFile(faultPath(dataDir), fault);
    expect((await migrate({ timeoutMs: 500 })).kind).toBe(kind);
    expect(await version()).toEqual({ version: after });
    expect(await found()).toMatchObject({ applied: after === 8 });
    expect(content(await migrate())).toEqual({ applied: true, result: { version: 8 } });
  });

  it('writes every call down', async () => {
    await migrate();
    await version();
    const lines = (await readFile(join(dataDir, 'calls.jsonl'), 'utf8')).trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { tool: string }).tool)).toEqual([
      'apply_migration',
      'schema_version',
    ]);
  });

  it('keeps its databases over a restart', async () => {
    await migrate();
    await example.close();
    example = await startExampleServer({ dataDir, port: 0, keys: jwksOf(key) });
    expect(await version()).toEqual({ version: 8 });
  });
});

test('the policy of the example is valid', async () => {
  const file = join(__dirname, '../../examples/production-migration/policy.yaml');
  const parsed = parsePolicyFile(await readFile(file, 'utf8'), 'policy.yaml');
  expect(parsed.ok ? [] : parsed.problems).toEqual([]);
});
