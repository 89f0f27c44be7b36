import { openingAttributes, startAttributes } from '../../workflows/search-attributes';

const requester = { subject: 'u1', agent: 'bot', chain: [] };
const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

test('a list of names is cut to what an attribute may have, each name whole [ENG-11]', () => {
  const calls = Array.from({ length: 50 }, (_, index) => ({
    id: `c${index}`,
    server: 'orders-db',
    tool: `${'é'.repeat(46)}${index + 10}`,
    arguments: {},
  }));
  const [, , servers, tools] = startAttributes({ v: 1, turnId: 't1', requester, calls }).map(({ value }) => value);
  expect(servers).toEqual(['orders-db']);
  expect(tools).toHaveLength(18);
  expect(bytesOf(tools)).toBeLessThanOrEqual(1_800);
});

test('approvers likewise, of people and groups [ENG-11]', () => {
  const approvers = {
    groups: ['dba'],
    people: Array.from({ length: 60 }, (_, index) => `user:${'x'.repeat(40)}${index}`),
  };
  const request = { ask: { steps: [{ kind: 'approve', approvers }] } };
  const [, names] = openingAttributes([request as never]).map(({ value }) => value);
  expect(names).toContain('dba');
  expect(bytesOf(names)).toBeLessThanOrEqual(1_800);
});
