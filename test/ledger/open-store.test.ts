import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { openStore } from '../../ledger/open-store';
import { recordedLog } from '../support/recorded-log';
import { freshPlace, STORE_KINDS } from '../support/stores';

describe('openStore', () => {
  it.each(STORE_KINDS)('opens a %s ledger by its URL', async (kind) => {
    const { url, remove } = await freshPlace(kind);
    const store = await openStore(url, recordedLog());
    expect(store.kind).toBe(kind);
    await store.close();
    await remove();
  });

  it.each(STORE_KINDS)('for a reader refuses an older or an empty %s ledger and changes nothing', async (kind) => {
    const { url, remove } = await freshPlace(kind);
    const reading = () => openStore(url, recordedLog(), { migrate: false });
    await expect(reading()).rejects.toMatchObject({
      code: 'LEDGER_OLDER',
      message: expect.stringMatching(/it has no tables, this release needs \d{4}-/),
    });
    const store = await openStore(url, recordedLog());
    await store.write(async ({ db }) => {
      await sql`delete from ledger_migrations where name > '0002'`.execute(db);
      await sql`drop index deliveries_position`.execute(db);
    });
    await store.close();
    await expect(reading()).rejects.toMatchObject({
      code: 'LEDGER_OLDER',
      message: expect.stringMatching(/it has 0001-tables, this release needs \d{4}-/),
    });
    await remove();
  });

  it('takes a path with a blank and an umlaut', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'holdpoint ä-'));
    const store = await openStore(`file:${encodeURI(folder)}/ledger.db`, recordedLog());
    await store.close();
    await rm(folder, { recursive: true });
  });

  it.each([
    ['', 'a text that is not a URL'],
    ['/var/lib/holdpoint/ledger.db', 'a text that is not a URL'],
    ['mysql://user:secret@host/db', 'another mysql: URL'],
    ['file:ledger.db', 'another file: URL'],
    ['file://host/ledger.db', 'another file: URL'],
  ])('refuses %j and prints no password', async (url, received) => {
    await expect(openStore(url, recordedLog())).rejects.toMatchObject({
      code: 'LEDGER_URL',
      message: `The ledger is named by file:/absolute/path/ledger.db or postgres://user@host/database, not by ${received}. Nothing was opened; correct it.`,
    });
  });
});
