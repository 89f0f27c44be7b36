import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROMISES, REQUIREMENTS } from '../requirements';

const ROOT = join(__dirname, '..');
const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.test.ts'));
const named = new Map<string, string[]>();
for (const file of files) {
  for (const [, id = ''] of readFileSync(join(ROOT, file), 'utf8').matchAll(/\[([A-Z]+\d?-\d+)\]/g)) {
    named.set(id, [...(named.get(id) ?? []), file]);
  }
}

const known = new Set(REQUIREMENTS.map(({ id }) => id));

test('every requirement of this part is named by a test', () => {
  const unproved = REQUIREMENTS.filter(({ id, where }) => where === 'here' && !named.has(id));
  expect(unproved.map(({ id, level, what }) => `${id} (${level}): ${what}`)).toEqual([]);
});

test('tests name no requirement that is not listed', () => {
  expect([...named].filter(([id]) => !known.has(id))).toEqual([]);
});

test('every row has an id of its own, a level and a place', () => {
  expect(known.size).toBe(REQUIREMENTS.length);
  expect(REQUIREMENTS.length).toBe(245);
  for (const { level, where, what } of REQUIREMENTS) {
    expect(['unit', 'workflow', 'gateway', 'api', 'browser', 'kill', 'multi']).toContain(level);
    expect(['here', 'gateway', 'console']).toContain(where);
    expect(what).not.toBe('');
  }
});

test.each(PROMISES)('promise $id, $what, is proved by tests', ({ rows }) => {
  expect(rows.filter((id) => !known.has(id) || !named.has(id))).toEqual([]);
});

test('there are ten promises', () => {
  expect(PROMISES.map(({ id }) => id)).toEqual(['P1', 'P2', 'P3', 'P4', 'P5', 'P6', 'P7', 'P8', 'P9', 'P10']);
});
