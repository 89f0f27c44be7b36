import { eligibleReviewers, isSelf, personForSubject, personOf } from '../../core/reviewers';
import { policyOf } from '../support/policy-fixture';

const POLICY = policyOf(`people:
  r2: { groups: [dba] }
  r1: { groups: [dba, leads] }
  dana: { groups: [leads], subjects: ['auth0|77'] }
  ops: {}
servers: {}
access: []
rules: []
`);

const requester = (subject: string, chain: string[] = [], agent = 'bot') => ({ subject, agent, chain });

describe('reviewers', () => {
  test.each([
    { groups: ['dba'], people: [], names: ['r1', 'r2'] },
    { groups: ['dba', 'leads'], people: [], names: ['dana', 'r1', 'r2'] },
    { groups: ['dba'], people: ['r1', 'ops'], names: ['ops', 'r1', 'r2'] },
    { groups: ['emptied'], people: ['gone', 'constructor'], names: [] },
  ])('of $groups and $people are $names, each once [WHO-10] [FORGE-11]', ({ groups, people, names }) => {
    expect(eligibleReviewers(POLICY, { groups, people })).toEqual(names);
  });

  test('a person is found by name, and nothing else is', () => {
    expect(personOf(POLICY, 'dana')).toEqual({ name: 'dana', groups: ['leads'], keys: [], subjects: ['auth0|77'] });
    expect(personOf(POLICY, 'eve')).toBeNull();
    expect(personOf(POLICY, 'constructor')).toBeNull();
  });

  test('a person is found by a requester name', () => {
    expect(personForSubject(POLICY, 'user:r1')?.name).toBe('r1');
    expect(personForSubject(POLICY, 'r1')?.name).toBe('r1');
    expect(personForSubject(POLICY, 'auth0|77')?.name).toBe('dana');
    expect(personForSubject(POLICY, 'user:dana')).toBeNull();
  });
});

describe('the person behind a request', () => {
  test.each([
    { name: 'the subject', person: 'r1', by: requester('user:r1'), self: true },
    { name: 'the subject by the plain name', person: 'r1', by: requester('r1'), self: true },
    { name: 'the subject by the name of another login', person: 'dana', by: requester('auth0|77'), self: true },
    {
      name: 'the subject by a default name, although others are written',
      person: 'dana',
      by: requester('user:dana'),
      self: true,
    },
    {
      name: 'the human at the start of a chain',
      person: 'r1',
      by: requester('agent:b', ['user:r1', 'agent:a']),
      self: true,
    },
    { name: 'the agent itself', person: 'ops', by: requester('user:r1', [], 'ops'), self: true },
    { name: 'a stranger to the policy, by name', person: 'eve', by: requester('user:eve'), self: true },
    { name: 'somebody else', person: 'r2', by: requester('user:r1', ['user:r1', 'agent:a']), self: false },
  ])('$name: $self', ({ person, by, self }) => {
    expect(isSelf(POLICY, person, by)).toBe(self);
  });
});
