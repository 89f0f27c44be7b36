import { nearestName } from '../../core/nearest-name';

test.each([
  { name: 'quorom', candidates: ['groups', 'people', 'quorum'], nearest: 'quorum' },
  { name: 'qourum', candidates: ['quorum'], nearest: 'quorum' },
  { name: 'Aprovers', candidates: ['approvers'], nearest: 'approvers' },
  { name: 'id', candidates: ['as', 'is', 'it'], nearest: 'is' },
  { name: 'dba', candidates: ['dba'], nearest: 'dba' },
  { name: 'timeout', candidates: ['outcome', 'time', 'timeouts', 'timeoutMs'], nearest: 'timeouts' },
  { name: 'x', candidates: [''], nearest: '' },
  { name: 'billing', candidates: ['orders'], nearest: null },
  { name: 'a', candidates: [], nearest: null },
  { name: 'n'.repeat(65), candidates: ['n'.repeat(65)], nearest: null },
])('$name among $candidates: $nearest', ({ name, candidates, nearest }) => {
  expect(nearestName(name, candidates)).toBe(nearest);
});
