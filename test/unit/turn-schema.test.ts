import { parseArguments, parseTurn } from '../../core/turn-schema';
import { turnDigest, turnWorkflowId } from '../../core/turn';

const call = { id: 'c1', server: 'orders-db', tool: 'read_rows', arguments: {} };
const turn = { v: 1, turnId: 't1', requester: { subject: 'u1', agent: 'bot', chain: [] }, calls: [call] };
const refusalOf = (input: unknown) => {
  const parsed = parseTurn(input);
  return parsed.ok ? 'accepted' : parsed.refusal.detail;
};

test('a turn of one call is accepted', () => {
  expect(parseTurn(turn)).toEqual({ ok: true, turn });
});

test.each([
  [
    'a status of a call [EXEC-16] [FORGE-1]',
    { ...turn, calls: [{ ...call, status: 'allowed' }] },
    'calls.0: "status" is not known here',
  ],
  ['a decision beside the calls [EXEC-16]', { ...turn, decisions: [] }, 'the turn: "decisions" is not known here'],
  [
    'an approval of a call [FORGE-1]',
    { ...turn, calls: [{ ...call, approved: true }] },
    'calls.0: "approved" is not known here',
  ],
  ['a call id twice', { ...turn, calls: [call, call] }, 'the call id "c1" is used twice'],
  ['no calls', { ...turn, calls: [] }, 'calls: it is empty; a turn has at least one call.'],
  [
    '51 calls [ENG-13]',
    { ...turn, calls: Array.from({ length: 51 }, (_, index) => ({ ...call, id: `c${index}` })) },
    'calls: it has 51; a turn has at most 50.',
  ],
  ['another version', { ...turn, v: 2 }, 'v: '],
  ['no requester', { ...turn, requester: undefined }, 'requester: it is missing; give an object.'],
  [
    'a name misspelt',
    { ...turn, requestor: {} },
    'the turn: "requestor" is not known here (did you mean "requester"?)',
  ],
  ['a text for its calls', { ...turn, calls: 'no' }, 'calls: it must be a list.'],
  ['an id with a line break', { ...turn, turnId: 't1\nt2' }, 'turnId: it holds a control character'],
  ['an id with half a surrogate pair', { ...turn, turnId: 'a\ud800' }, 'turnId: it holds a control character'],
  [
    'a note with half a character',
    { ...turn, calls: [{ ...call, note: 'a\ud800' }] },
    'calls.0.note: it holds half a character or U+0000',
  ],
  ['a note with U+0000', { ...turn, calls: [{ ...call, note: '\u0000' }] }, 'calls.0.note: it holds half a character'],
  ['null', null, 'the turn: '],
  ['42', 42, 'the turn: '],
])('a turn with %s is refused', (_name, input, detail) => {
  expect(refusalOf(input)).toContain(detail);
});

test('a wrong argument does not refuse the turn: the call refuses itself', () => {
  expect(parseTurn({ ...turn, calls: [{ ...call, arguments: [1] }] }).ok).toBe(true);
});

test.each([
  ['an array [BIND-12]', [1], 'arguments are a JSON object'],
  ['undefined', undefined, ''],
  ['a number that a double does not hold [CANON-4]', { n: 2 ** 53 }, ''],
  ['257 KiB', { text: 'x'.repeat(257 * 1024) }, '262144'],
])('arguments that are %s are refused', (_name, value, detail) => {
  const parsed = parseArguments(value);
  expect(parsed.ok).toBe(false);
  expect(parsed.ok ? '' : parsed.detail).toContain(detail);
});

test('arguments of exactly 256 KiB are accepted, one byte more is not [CANON-9]', () => {
  const rest = 262_144 - '{"t":""}'.length;
  expect(parseArguments({ t: 'x'.repeat(rest) }).ok).toBe(true);
  expect(parseArguments({ t: 'x'.repeat(rest + 1) }).ok).toBe(false);
});

test('the digest of a turn depends on every call and not on the order of keys [BIND-02] [SWAP-1]', () => {
  const { v, turnId, requester, calls } = turn;
  expect(turnDigest({ calls, requester, turnId, v })).toBe(turnDigest(turn));
  expect(turnDigest({ ...turn, calls: [{ ...call, arguments: { amount: 5_000 } }] })).not.toBe(turnDigest(turn));
});

test('a turn id of two requesters is two workflows [NEST-07]', () => {
  expect(turnWorkflowId('u1', 't1')).toMatch(/^t1~[0-9a-f]{12}$/);
  expect(turnWorkflowId('u1', 't1')).not.toBe(turnWorkflowId('u2', 't1'));
});

test('what has no canonical JSON has no digest', () => {
  for (const input of ['text', null, { ...turn, note: '\ud800' }, { ...turn, count: Number.NaN }])
    expect(turnDigest(input)).toBe('none');
});

test.each([
  ['a list', ['x'], 'arguments are a JSON object'],
  ['a text', 'x', 'arguments are a JSON object'],
  ['null', null, 'arguments are a JSON object'],
])('arguments that are %s are refused', (_name, value, detail) => {
  expect(parseArguments(value)).toEqual({ ok: false, detail });
});
