import { serverOf, toolOf } from '../../core/policy-lookup';
import { ORDERS_POLICY, policyOf } from '../support/policy-fixture';

const policy = policyOf(ORDERS_POLICY);

test('servers and tools are found by name', () => {
  expect(serverOf(policy, 'orders-db')?.name).toBe('orders-db');
  expect(toolOf(policy, 'orders-db', 'apply_migration')?.name).toBe('apply_migration');
});

test.each([
  ['billing-db', 'apply_migration'],
  ['constructor', 'name'],
  ['orders-db', 'read_rows'],
  ['orders-db', 'constructor'],
])('%s has no tool %s', (server, tool) => {
  expect(toolOf(policy, server, tool)).toBeUndefined();
});
