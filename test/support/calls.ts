import type { TurnStart } from '../../client';
import type { JsonObject } from '../../core/json';
import type { Requester } from '../../core/requester';

type Call = TurnStart['calls'][number];

const on = (id: string, tool: string, args: unknown, more: Partial<Call> = {}): Call => ({
  id,
  server: 'orders-db',
  tool,
  arguments: args,
  ...more,
});

/** No rule asks. */
export const read = (id = 'c1', more: Partial<Call> = {}): Call => on(id, 'read_rows', { table: 'orders' }, more);

export const remove = (id = 'c1', args: JsonObject = { id: 7 }, more: Partial<Call> = {}): Call =>
  on(id, 'delete_rows', args, more);

export const migrate = (id = 'c1', args: JsonObject = {}, more: Partial<Call> = {}): Call =>
  on(id, 'apply_migration', { environment: 'production', sql: 'ADD COLUMN note', ...args }, more);

/** Its outcome cannot be looked up. */
export const mail = (id = 'c1', args: JsonObject = {}, more: Partial<Call> = {}): Call =>
  on(id, 'send_mail', { to: 'ann@example.com', ...args }, more);

let agents = 0;

/** The human `subject` through an agent of its own, so that windows and denials of one test are no other's. */
export function someone(subject = 'u1', chain: readonly string[] = []): Requester {
  agents += 1;
  return { subject, agent: `bot-${agents}`, chain };
}
