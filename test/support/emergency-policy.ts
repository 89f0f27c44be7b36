import type { Policy, Rule } from '../../core/policy';
import { askOf, PEOPLE, POLICY } from './ledger-fixture';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const WINDOW = { kind: 'window', uses: null, durationMs: 10 * MINUTE, total: {} } as const;
/** On-call people may skip the approvers of `askOf`, for ten minutes; reviewed within eight hours. */
export const BREAK_GLASS: Rule = {
  ...{ id: 'break-glass', version: 'v1', server: 'orders-db', scope: { kind: 'tools', tools: ['delete_rows'] } },
  ...{ when: {}, approvers: { groups: ['oncall'], people: [], quorum: 1 }, selfApproval: false, bind: 'arguments' },
  ...{ validity: WINDOW, escalate: [], deadline: askOf().deadline, emergency: { reviewWithinMs: 8 * HOUR } },
};
const oncall = { ...PEOPLE.l1, groups: [], subjects: [] };

/** The policy of `ledger-fixture` with that rule, and on-call people o1 and o2. */
export const EMERGENCY: Policy = {
  ...POLICY,
  people: {
    ...PEOPLE,
    o1: { ...oncall, name: 'o1', groups: ['oncall'] },
    o2: { ...oncall, name: 'o2', groups: ['oncall'] },
  },
  rules: [BREAK_GLASS],
};
