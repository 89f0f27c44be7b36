import { createHash } from 'node:crypto';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newToken, revokeToken } from '../../gateway/edge/new-token';
import { createTokenLookUp } from '../../gateway/edge/tokens';
import { recordedLog } from '../support/recorded-log';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdpoint-edge-'));
  file = join(folder, 'tokens.json');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const AMIRA = { subject: 'user:amira', agent: 'support-bot' };
function made(holder: Parameters<typeof newToken>[1] = AMIRA): { readonly id: string; readonly token: string } {
  const made = newToken(file, holder, 1_700_000_000_000);
  if (!made.ok) throw new Error(made.detail);
  return made;
}
interface Content {
  readonly v: number;
  readonly tokens: readonly Record<string, unknown>[];
}
const content = (): Content => JSON.parse(readFileSync(file, 'utf8')) as Content;
const write = (value: unknown): void =>
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value), { mode: 0o600 });

describe('newToken', () => {
  it('gives a secret of 256 bits once and keeps its hash alone, in a file of its owner', () => {
    const { id, token } = made();
    expect(token).toMatch(/^hp_[A-Za-z0-9_-]{43}$/);
    const sha256 = createHash('sha256').update(token).digest('hex');
    expect(content()).toEqual({ v: 1, tokens: [{ id, sha256, ...AMIRA, createdAtMs: 1_700_000_000_000 }] });
    expect(readFileSync(file, 'utf8')).not.toContain(token.slice(3));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['tokens.json']);
  });

  it('adds to those that are there', () => {
    const first = made();
    const second = made({ subject: 'user:ben', agent: 'desk', chain: ['user:ben', 'desk'] });
    expect(content().tokens.map(({ id }) => id)).toEqual([first.id, second.id]);
  });

  it.each([
    ['a subject that a policy would read as a pattern', { subject: 'group:dba', agent: 'bot' }],
    ['an empty agent', { subject: 'user:amira', agent: '' }],
    ['a space', { subject: 'user:amira x', agent: 'bot' }],
    ['a hidden character in the chain', { ...AMIRA, chain: ['user:a\u200b'] }],
  ])('refuses %s', (_name, holder) => {
    expect(newToken(file, holder)).toEqual({
      ok: false,
      detail: 'subject, agent and links of the chain are names of 1 to 200 visible characters',
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('never replaces a file that it cannot read', () => {
    write('{"v":2,"tokens":[]}');
    expect(newToken(file, AMIRA)).toEqual({ ok: false, detail: `${file}: v: it is not 1` });
    expect(readFileSync(file, 'utf8')).toBe('{"v":2,"tokens":[]}');
    expect(readdirSync(folder)).toEqual(['tokens.json']);
  });

  it('refuses while another process writes the file', () => {
    writeFileSync(`${file}.new`, '');
    expect(newToken(file, AMIRA)).toEqual({
      ok: false,
      detail: `${file}.new is there: another process changes the tokens; remove it if none does`,
    });
  });

  it('says that a folder is not there', () => {
    const nowhere = join(folder, 'none', 'tokens.json');
    expect(newToken(nowhere, AMIRA)).toMatchObject({ ok: false, detail: expect.stringMatching(/cannot be written/) });
  });
});

describe('a local token', () => {
  it('stands for its subject, agent and chain', () => {
    const { token } = made();
    const other = made({ subject: 'user:ben', agent: 'desk', chain: ['user:ben', 'desk'] }).token;
    const lookUp = createTokenLookUp(file, recordedLog());
    expect(lookUp(token)).toEqual({ kind: 'found', requester: { ...AMIRA, chain: [] } });
    expect(lookUp(other)).toEqual({
      kind: 'found',
      requester: { subject: 'user:ben', agent: 'desk', chain: ['user:ben', 'desk'] },
    });
  });

  it('is wrong with any other text, length or form, without an error [WEB-6]', () => {
    const { token } = made();
    const lookUp = createTokenLookUp(file, recordedLog());
    const sha256 = String(content().tokens[0]?.['sha256']);
    const others = [
      'abc',
      '',
      'hp_',
      token.slice(0, -1),
      `${token}A`,
      token.toUpperCase(),
      `hp_${'A'.repeat(43)}`,
      sha256,
    ];
    for (const other of others) expect(lookUp(other)).toEqual({ kind: 'wrong' });
  });

  it('counts as soon as it was made, and no longer than it is in the file', () => {
    const first = made();
    const lookUp = createTokenLookUp(file, recordedLog());
    expect(lookUp(first.token).kind).toBe('found');
    const second = made();
    expect(lookUp(second.token).kind).toBe('found');
    expect(revokeToken(file, first.id)).toEqual({ ok: true });
    expect(lookUp(first.token).kind).toBe('wrong');
    expect(lookUp(second.token).kind).toBe('found');
    expect(revokeToken(file, first.id)).toEqual({ ok: false, detail: `${file} holds no token "${first.id}"` });
  });

  it('ends when it was removed by hand, to a file of the same length and time', () => {
    const { token } = made();
    const lookUp = createTokenLookUp(file, recordedLog());
    const { atime, mtime } = statSync(file);
    expect(lookUp(token).kind).toBe('found');
    const text = readFileSync(file, 'utf8');
    const sha256 = String(content().tokens[0]?.['sha256']);
    writeFileSync(file, text.replace(sha256, '0'.repeat(64)));
    utimesSync(file, atime, mtime);
    expect(lookUp(token).kind).toBe('wrong');
  });

  it('ends when it was removed from a file that had not changed for long', () => {
    const { token } = made();
    const inAnHour = (): number => Date.now() + 3_600_000;
    const lookUp = createTokenLookUp(file, recordedLog(), inAnHour);
    expect([lookUp(token).kind, lookUp(token).kind]).toEqual(['found', 'found']);
    write({ v: 1, tokens: [] });
    expect(lookUp(token).kind).toBe('wrong');
  });
});

describe('a file of tokens that cannot be used', () => {
  const record = { id: 'a', sha256: '0'.repeat(64), ...AMIRA, createdAtMs: 0 };

  it.each<[string, unknown, string]>([
    ['is empty', '', 'it is not strict JSON'],
    ['is cut off', '{"v":1,"tokens":[', 'it is not strict JSON'],
    ['says a thing twice', '{"v":1,"tokens":[],"tokens":[]}', 'it is not strict JSON'],
    ['is of another version', { v: 2, tokens: [] }, 'v: it is not 1'],
    ['holds something unknown', { v: 1, tokens: [{ ...record, admin: true }] }, 'tokens.0: "admin" is not known here'],
    ['holds a hash in another form', { v: 1, tokens: [{ ...record, sha256: 'ab' }] }, 'tokens.0.sha256: it is not 64'],
    [
      'holds a pattern as a subject',
      { v: 1, tokens: [{ ...record, subject: '*' }] },
      'tokens.0.subject: it is no name',
    ],
    [
      'holds two of one id',
      { v: 1, tokens: [record, { ...record, sha256: '1'.repeat(64) }] },
      'two tokens have one id',
    ],
    ['holds two of one hash', { v: 1, tokens: [record, { ...record, id: 'b' }] }, 'two tokens have one sha256'],
  ])('because it %s, lets nobody in, is logged once, and counts again when it is whole', (_name, value, detail) => {
    const { token } = made();
    const good = readFileSync(file, 'utf8');
    const log = recordedLog();
    const lookUp = createTokenLookUp(file, log);
    expect(lookUp(token).kind).toBe('found');
    write(value);
    expect([lookUp(token).kind, lookUp(token).kind, lookUp('abc').kind]).toEqual(['unusable', 'unusable', 'unusable']);
    expect(log.entries).toEqual([
      { level: 'error', event: 'gateway.tokens.unusable', fields: { file, detail: expect.stringContaining(detail) } },
    ]);
    write(good);
    expect(lookUp(token).kind).toBe('found');
    expect(log.entries.at(-1)).toEqual({ level: 'info', event: 'gateway.tokens.changed', fields: { file, tokens: 1 } });
  });

  it('because others can read it, or it is gone, lets nobody in', () => {
    const { token } = made();
    const lookUp = createTokenLookUp(file, recordedLog());
    expect(lookUp(token).kind).toBe('found');
    chmodSync(file, 0o640);
    expect(lookUp(token).kind).toBe('unusable');
    chmodSync(file, 0o600);
    expect(lookUp(token).kind).toBe('found');
    rmSync(file);
    expect(lookUp(token).kind).toBe('unusable');
  });
});
