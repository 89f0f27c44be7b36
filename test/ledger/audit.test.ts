import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { AuditProblem } from '../../ledger/audit-check';
import { exportAudit, verifyAuditExport } from '../../ledger/audit-export';
import { chainHash, contentDigest, type AuditRecord } from '../../ledger/audit-record';
import { readAudit } from '../../ledger/audit-read';
import { verifyAudit, type AuditReport } from '../../ledger/audit-verify';
import { checkCheckpoint, keyIdOf, signCheckpoint, type Checkpoint } from '../../ledger/checkpoint';
import { createCheckpointer, type Checkpointer } from '../../ledger/checkpointer';
import type { Store } from '../../ledger/transaction';
import { eventually } from '../support/eventually';
import { freshStore, STORE_KINDS, type FreshStore } from '../support/stores';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const stranger = generateKeyPairSync('ed25519');
const publicKeys = [publicKey];

const problem = (seq: number, what: AuditProblem['what'], detail: string) => ({ seq, what, detail });

describe('the chain', () => {
  const first = { kind: 'policy.applied', operationId: null, body: '{"version":1}' };

  it('has hashes that never change between releases', () => {
    const digest = contentDigest(1_767_261_600_000, first);
    expect(digest).toBe('cd083f73d8dbb8a73e7b20a8732e367716979d47e4461bc6b0b54a92448dab81');
    expect(chainHash({ prevHash: '0'.repeat(64), seq: 1, digest })).toBe(
      '73d0b87819e96400abe34d93a86ed2b7290e0ae223a3c685d85707b603f4ad1c',
    );
  });

  it.each([
    ['time', contentDigest(2, first)],
    ['kind', contentDigest(1, { ...first, kind: 'policy.applied2' })],
    ['operation', contentDigest(1, { ...first, operationId: 'op' })],
    ['no operation', contentDigest(1, { ...first, operationId: 'null' })],
    ['body', contentDigest(1, { ...first, body: '{"version":2}' })],
  ])('another %s is another digest', (_part, digest) => {
    expect(digest).not.toBe(contentDigest(1, first));
  });
});

describe('a checkpoint', () => {
  const checkpoint = signCheckpoint({ seq: 3, hash: 'a'.repeat(64), at: 5 }, privateKey);

  it('names its key by the RFC 7638 thumbprint', () => {
    // The example of RFC 8037, appendix A.3.
    const x = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    expect(keyIdOf(key)).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k');
    expect(keyIdOf(privateKey)).toBe(keyIdOf(publicKey));
  });

  it.each([
    ['as it was signed', checkpoint, publicKeys, 'valid'],
    ['with another place', { ...checkpoint, seq: 4 }, publicKeys, 'forged'],
    ['with another hash', { ...checkpoint, hash: 'b'.repeat(64) }, publicKeys, 'forged'],
    ['with another time', { ...checkpoint, at: 6 }, publicKeys, 'forged'],
    ['with half a signature', { ...checkpoint, signature: checkpoint.signature.slice(0, 40) }, publicKeys, 'forged'],
    ['without a signature', { ...checkpoint, signature: '' }, publicKeys, 'forged'],
    ['of a key that was not given', checkpoint, [stranger.publicKey], 'keyUnknown'],
    ['with no keys', checkpoint, [], 'keyUnknown'],
  ])('%s', (_name, given, keys, expected) => {
    expect(checkCheckpoint(given, keys)).toBe(expected);
  });

  it('is not signed with a key of another kind', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    expect(() => signCheckpoint({ seq: 1, hash: '', at: 1 }, rsa.privateKey)).toThrow('signed with an Ed25519 key');
  });
});

describe.each(STORE_KINDS)('audit on %s', (kind) => {
  let fresh: FreshStore;
  let store: Store;
  let nowMs: number;

  beforeEach(async () => {
    nowMs = Date.UTC(2026, 0, 1);
    fresh = await freshStore(kind, { clock: () => nowMs });
    store = fresh.store;
  });
  afterEach(() => fresh.remove());

  /** Ten records, in transactions of one and of several. */
  async function record(count = 10): Promise<void> {
    const write = (n: number) =>
      store.write(async (tx) => tx.fact({ kind: 'step', operationId: `op_${n}`, body: { n, text: 'é\n"\u0000' } }));
    await write(1);
    await Promise.all(Array.from({ length: count - 1 }, (_, n) => write(n + 2)));
  }

  /** What both ways of verifying say, which is the same. */
  async function verified(checkpoints: readonly Checkpoint[] = []): Promise<AuditReport> {
    const online = await verifyAudit(store, { publicKeys, checkpoints });
    const lines: string[] = [];
    for await (const line of exportAudit(store)) lines.push(line);
    const offline = await verifyAuditExport(lines, { publicKeys, checkpoints });
    // An export has no rows to compare; without any, none differs.
    expect(online.rows).toEqual({ compared: 0, problems: [] });
    expect(offline).toEqual({ ...online, rows: null });
    return online;
  }

  const signHead = async () => {
    const checkpointer = createCheckpointer({ store, key: privateKey, log: fresh.log });
    const checkpoint = await checkpointer.checkpoint();
    await checkpointer.stop();
    if (checkpoint === null) throw new Error('Nothing was signed');
    return checkpoint;
  };

  it('an empty chain is sound', async () => {
    expect(await verified()).toEqual({
      ok: true,
      records: 0,
      last: { seq: 0, hash: '0'.repeat(64) },
      problems: [],
      checkpoints: { signed: 0, keyUnknown: 0 },
      rows: { compared: 0, problems: [] },
    });
  });

  it('a chain that nobody touched is sound, with its checkpoint', async () => {
    await record();
    await signHead();
    expect(await verified()).toMatchObject({
      ok: true,
      records: 10,
      problems: [],
      checkpoints: { signed: 1, keyUnknown: 0 },
    });
  });

  it('more records than a page are sound', async () => {
    await record(2_345);
    const seen: number[] = [];
    const report = await verifyAudit(store, { publicKeys, onProgress: (records) => seen.push(records) });
    expect(report).toMatchObject({ ok: true, records: 2_345 });
    expect(seen).toEqual([1_000, 2_000, 2_345, 2_345]);
  });

  it('is sound while others write', async () => {
    await record(500);
    const writing = record(500);
    expect(await verifyAudit(store, { publicKeys })).toMatchObject({ ok: true });
    await writing;
    expect(await verified()).toMatchObject({ ok: true, records: 1_000 });
  });

  describe('[TIME2-13] finds and locates', () => {
    beforeEach(() => record());

    it.each([
      ['body', `body = '{"n":5,"text":"other"}'`],
      ['time', 'at = at + 1'],
      ['kind', `kind = 'else'`],
      ['operation', `operation_id = 'op_9'`],
      ['lost operation', 'operation_id = null'],
      ['hash', `hash = '${'0'.repeat(64)}'`],
    ])('a record with an edited %s', async (_what, change) => {
      await fresh.tamper(`update audit set ${change} where seq = 5`);
      const { ok, problems } = await verified();
      expect(ok).toBe(false);
      expect(problems).toEqual([problem(5, 'changed', 'record 5 is not what was recorded')]);
    });

    it('a record that was edited and hashed anew', async () => {
      const edited = await rehashed(5, (old) => ({ ...old, body: '{"n":5,"by":"somebody else"}' }));
      await fresh.tamper(update(edited));
      expect((await verified()).problems).toEqual([problem(5, 'changed', 'record 6 was chained to another record 5')]);
    });

    it('the last record, edited and hashed anew', async () => {
      const edited = await rehashed(10, (old) => ({ ...old, body: '{}' }));
      await fresh.tamper(update(edited));
      expect((await verified()).problems).toEqual([
        problem(10, 'changed', 'the head was chained to another record 10'),
      ]);
    });

    it('a record that was removed', async () => {
      await fresh.tamper('delete from audit where seq = 4');
      expect((await verified()).problems).toEqual([problem(4, 'missing', 'record 4 is missing')]);
    });

    it('several that were removed, also the first', async () => {
      await fresh.tamper('delete from audit where seq in (1, 2, 7)');
      expect((await verified()).problems).toEqual([
        problem(1, 'missing', 'records 1 to 2 are missing'),
        problem(7, 'missing', 'record 7 is missing'),
      ]);
    });

    it('a record that was removed, with those after it moved up', async () => {
      await fresh.tamper('delete from audit where seq = 9', 'update audit set seq = 9 where seq = 10');
      expect((await verified()).problems).toEqual([
        problem(9, 'changed', 'record 9 is not what was recorded'),
        problem(10, 'truncated', 'record 10 is cut off: the head names 10'),
      ]);
    });

    it('two records that changed places', async () => {
      await fresh.tamper(
        'update audit set seq = -1 where seq = 3',
        'update audit set seq = 3 where seq = 7',
        'update audit set seq = 7 where seq = -1',
      );
      expect((await verified()).problems).toEqual([
        problem(3, 'reordered', 'record 3 holds what was recorded as 7'),
        problem(7, 'reordered', 'record 7 holds what was recorded as 3'),
      ]);
    });

    it('neighbours that changed places, their hashes left where they were', async () => {
      const [third, fourth] = [await recordAt(3), await recordAt(4)];
      const swap = ({ seq }: AuditRecord, { at, operationId, body }: AuditRecord) =>
        `update audit set at = ${at}, operation_id = '${operationId}', body = '${body}' where seq = ${seq}`;
      await fresh.tamper(swap(third, fourth), swap(fourth, third));
      expect((await verified()).problems).toEqual([
        problem(3, 'reordered', 'record 3 holds what was recorded as 4'),
        problem(4, 'reordered', 'record 4 holds what was recorded as 3'),
      ]);
    });

    it('the last five, cut off', async () => {
      await fresh.tamper('delete from audit where seq > 5');
      expect((await verified()).problems).toEqual([
        problem(6, 'truncated', 'records 6 to 10 are cut off: the head names 10'),
      ]);
    });

    it('a lost head, and one that was set back', async () => {
      await fresh.tamper('update audit_heads set seq = 8');
      expect((await verified()).problems).toEqual([problem(8, 'head', 'the head names record 8, the last one is 10')]);
      await fresh.tamper('delete from audit_heads');
      expect(await verifyAudit(store, { publicKeys })).toMatchObject({
        problems: [problem(10, 'head', 'the head of the chain is missing')],
      });
    });

    it('a cut end with a repaired head: only by a checkpoint that was kept elsewhere', async () => {
      const kept = await signHead();
      const fifth = await recordAt(5);
      await fresh.tamper(
        'delete from audit where seq > 5',
        'delete from checkpoints',
        `update audit_heads set seq = 5, hash = '${fifth.hash}'`,
      );
      expect(await verified()).toMatchObject({ ok: true, records: 5 });
      expect((await verified([kept])).problems).toEqual([
        problem(
          6,
          'truncated',
          `records 6 to 10 are cut off: the checkpoint of 2026-01-01T00:00:00.000Z (key ${keyIdOf(publicKey)}) covers 10`,
        ),
      ]);
    });

    it('a chain hashed anew from an edited record on: only by a checkpoint, after the last that still agrees', async () => {
      const early = await signHead();
      await record();
      const late = await signHead();
      await rewriteFrom(13);
      await fresh.tamper('delete from checkpoints');
      expect(await verified()).toMatchObject({ ok: true, records: 20 });
      expect((await verified([late, early])).problems).toEqual([
        problem(
          11,
          'rewritten',
          `records 11 to 20 are not those that the checkpoint of 2026-01-01T00:00:00.000Z (key ${keyIdOf(publicKey)}) covers`,
        ),
      ]);
    });

    it('a checkpoint that nobody signed, stored or given', async () => {
      const forged = signCheckpoint({ seq: 10, hash: 'f'.repeat(64), at: 1 }, stranger.privateKey);
      const posing = { ...forged, keyId: keyIdOf(publicKey) };
      const found = problem(10, 'checkpoint', `the checkpoint of record 10 is not signed by key ${keyIdOf(publicKey)}`);
      expect((await verified([posing])).problems).toEqual([found]);
      await fresh.tamper(
        `insert into checkpoints values (10, '${posing.hash}', 1, '${posing.keyId}', '${posing.signature}')`,
      );
      expect((await verified()).problems).toEqual([found]);
    });

    it('a given checkpoint without its key; a stored one is only counted', async () => {
      const { hash } = await recordAt(10);
      const foreign = signCheckpoint({ seq: 10, hash, at: 1 }, stranger.privateKey);
      expect((await verified([foreign])).problems).toEqual([
        problem(10, 'checkpoint', `no public key ${keyIdOf(stranger.publicKey)} for the checkpoint of record 10`),
      ]);
      await fresh.tamper(
        `insert into checkpoints values (10, '${hash}', 1, '${foreign.keyId}', '${foreign.signature}')`,
      );
      expect(await verified()).toMatchObject({ ok: true, checkpoints: { signed: 0, keyUnknown: 1 } });
    });

    it('no more than 100 of many', async () => {
      await record(200);
      await fresh.tamper('update audit set at = at + 1 where seq > 10');
      expect((await verified()).problems).toHaveLength(100);
    });
  });

  describe('an export', () => {
    let lines: string[];

    beforeEach(async () => {
      await record(3);
      await signHead();
      lines = [];
      for await (const line of exportAudit(store)) lines.push(line);
    });
    const problemsOf = async (given: readonly string[]) => (await verifyAuditExport(given, { publicKeys })).problems;

    it('is lines of JSON: a start, checkpoints, records, an end', () => {
      expect(lines.map((line) => (JSON.parse(line) as { line: string }).line)).toEqual([
        'start',
        'checkpoint',
        'record',
        'record',
        'record',
        'end',
      ]);
    });

    it('is sound with an empty line at the end', async () => {
      expect(await problemsOf([...lines, ''])).toEqual([]);
    });

    it.each([
      ['its last line', (all: string[]) => all.slice(0, -1), problem(4, 'truncated', 'the export has no last line')],
      [
        'its last record',
        (all: string[]) => all.toSpliced(4, 1).toSpliced(1, 1),
        problem(3, 'truncated', 'record 3 is cut off: the head names 3'),
      ],
      ['a record', (all: string[]) => all.toSpliced(3, 1), problem(2, 'missing', 'record 2 is missing')],
      [
        'its first line',
        (all: string[]) => all.slice(1),
        problem(1, 'malformed', 'line 1 is not a line of an audit export at its place'),
      ],
    ])('that has lost %s', async (_what, change, expected) => {
      expect(await problemsOf(change(lines))).toEqual([expected]);
    });

    it('with a line that is not JSON, has a name twice or an unknown one', async () => {
      const record = lines[3]!;
      const bad = [record.slice(0, -1), record.replace('{', '{"seq":2,'), record.replace('{', '{"extra":1,')];
      for (const line of bad) {
        expect(await problemsOf(lines.with(3, line))).toEqual([
          problem(2, 'malformed', 'line 4 is not a line of an audit export at its place'),
          problem(2, 'missing', 'record 2 is missing'),
        ]);
      }
    });

    it('with a record twice, a late checkpoint, or lines after its end', async () => {
      const last = lines.at(-2)!;
      const repeated = lines.toSpliced(-1, 0, last);
      expect(await problemsOf(repeated)).toEqual([problem(3, 'reordered', 'record 3 comes after record 3')]);
      expect(await problemsOf(lines.toSpliced(-1, 0, lines[1]!))).toEqual([
        problem(4, 'malformed', 'line 6 is a checkpoint after a record'),
      ]);
      expect(await problemsOf([...lines, last])).toEqual([
        problem(4, 'malformed', 'line 7 is not a line of an audit export at its place'),
      ]);
    });
  });

  describe('a checkpointer', () => {
    let checkpointer: Checkpointer | undefined;
    const start = (settings: { everyRows?: number; everyMs?: number; pollMs?: number }) => {
      checkpointer = createCheckpointer({ store, key: privateKey, log: fresh.log, pollMs: 5, ...settings });
      return checkpointer;
    };
    const BY_HAND = { pollMs: 60_000 };
    const signed = async () =>
      (await store.db.selectFrom('checkpoints').select('seq').orderBy('seq').execute()).map(({ seq }) => seq);

    afterEach(async () => checkpointer?.stop());

    it('signs after so many records', async () => {
      await record(3);
      await start(BY_HAND).checkpoint();
      await checkpointer?.stop();
      start({ everyRows: 5, everyMs: 60_000 });
      await record(4);
      await record(1);
      await eventually(async () => expect(await signed()).toEqual([3, 8]));
    });

    it('signs after so much time, if there is anything new', async () => {
      await record(3);
      await start({}).checkpoint();
      await record(1);
      nowMs += 60_000;
      await eventually(async () => expect(await signed()).toEqual([3, 4]));
    });

    it('signs at its end, sends the checkpoint out and logs it', async () => {
      await record(3);
      await start(BY_HAND).stop();
      const event = await store.db.selectFrom('outbox').select('body').executeTakeFirstOrThrow();
      const { data, type } = JSON.parse(event.body) as { data: Checkpoint; type: string };
      expect(type).toBe('dev.holdpoint.audit.checkpoint');
      expect(checkCheckpoint(data, publicKeys)).toBe('valid');
      expect(data.seq).toBe(3);
      expect(fresh.log.entries).toContainEqual({ level: 'info', fields: data, event: 'audit checkpoint' });
    });

    it('signs nothing in an empty ledger, and a head only once however many there are', async () => {
      expect(await start(BY_HAND).checkpoint()).toBeNull();
      await record(2);
      const other = createCheckpointer({ store, key: stranger.privateKey, log: fresh.log });
      const both = await Promise.all([checkpointer!.checkpoint(), other.checkpoint()]);
      await other.stop();
      expect(both.filter((checkpoint) => checkpoint !== null)).toHaveLength(1);
      expect(await signed()).toEqual([2]);
    });

    it('logs a failure and goes on', async () => {
      await record(1);
      await fresh.change('alter table checkpoints rename to away');
      start({ everyRows: 1 });
      await eventually(() =>
        expect(fresh.log.entries.some(({ event }) => event === 'audit checkpoint failed')).toBe(true),
      );
      await fresh.change('alter table away rename to checkpoints');
      await eventually(async () => expect(await signed()).toEqual([1]));
    });
  });

  async function recordAt(seq: number): Promise<AuditRecord> {
    const [found] = await readAudit(store.db, { after: seq - 1, limit: 1 });
    if (found === undefined) throw new Error(`No record ${seq}`);
    return found;
  }

  /** The record after a change, with the hash that fits it. */
  async function rehashed(seq: number, change: (old: AuditRecord) => AuditRecord): Promise<AuditRecord> {
    const edited = change(await recordAt(seq));
    const digest = contentDigest(edited.at, edited);
    return { ...edited, hash: chainHash({ prevHash: edited.prevHash, seq, digest }) };
  }

  /** Somebody with the whole database edits a record and hashes all after it anew, the head too. */
  async function rewriteFrom(seq: number): Promise<void> {
    let prevHash = (await recordAt(seq - 1)).hash;
    const all = await readAudit(store.db, { after: seq - 1, limit: 1_000 });
    const statements = all.map((old) => {
      const edited = { ...old, prevHash, body: old.seq === seq ? '{"edited":true}' : old.body };
      prevHash = chainHash({ prevHash, seq: old.seq, digest: contentDigest(edited.at, edited) });
      return update({ ...edited, hash: prevHash });
    });
    await fresh.tamper(...statements, `update audit_heads set hash = '${prevHash}'`);
  }
});

function update({ seq, body, prevHash, hash }: AuditRecord): string {
  return `update audit set body = '${body}', prev_hash = '${prevHash}', hash = '${hash}' where seq = ${seq}`;
}
