import { decidesUnnamed, peopleText } from '../../cli/dev/people-text';
import type { Person, Policy } from '../../core/policy';

const KEY = 'ed25519:a';
const agent = { subject: 'user:developer', agent: 'cli' };
const reviewer = { name: 'root', keyFile: 'keys/root.pem', publicKey: KEY };
const person = (name: string, keys: string[] = []): Person => ({ name, groups: [], keys, subjects: [name] });
const access = (subjects: string[], agents: string[]) => ({ subjects, agents, server: 's', tools: ['*'], when: {} });
const policyOf = (people: readonly Person[], entries: Policy['access'] = []): Policy => ({
  v: 1,
  trust: null,
  people: Object.fromEntries(people.map((each) => [each.name, each])),
  servers: {},
  access: entries,
  rules: [],
});

test.each([
  ['an entry for it', [access(['*'], ['cli'])], 'user:developer through cli: starts turns'],
  [
    'entries for others',
    [access(['user:a'], ['bot']), access(['user:a'], ['bot']), access(['user:developer'], ['other'])],
    'user:a through bot; user:developer through other: name one as the requester in the turn file',
  ],
  ['no entry', [], 'nobody: the policy has no access entry, so every call is refused'],
] as const)('the agent, by a policy with %s', (_name, entries, text) => {
  expect(peopleText(policyOf([], entries), { agent, reviewer })[0]).toBe(`  agent           ${text}`);
});

test.each([
  ['the key that is here', [person('root', [KEY])], 'root, another person: decides, signing with keys/root.pem'],
  [
    'no key',
    [person('root')],
    'root, another person: decides; the policy lists no key, so the decisions are UNVERIFIED',
  ],
  [
    'another key',
    [person('root', ['ed25519:b'])],
    'root, another person: decides; the policy lists another key than the one here: give --key FILE',
  ],
  ['other people', [person('kim'), person('lee')], 'kim, lee: give --as NAME'],
  ['nobody', [], 'nobody: the policy lists no people'],
] as const)('the reviewer, by a policy with %s', (_name, people, text) => {
  const policy = policyOf(people);
  expect(peopleText(policy, { agent, reviewer })[1]).toBe(`  reviewer        ${text}`);
  expect(decidesUnnamed(policy, reviewer)).toBe(text.startsWith('root'));
});
