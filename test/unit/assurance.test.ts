import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '../..');
const docs = readFileSync(join(root, 'docs/assurance.md'), 'utf8');

test('every test that the assurance table names is there', () => {
  const named = [...docs.matchAll(/`(test\/[\w/-]+\.test\.ts)`/g)].map(([, file]) => file ?? '');
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
