import { z } from 'zod';
import { REPORT_WINDOWS } from '../reports/report';

const text = z.string().min(1).max(300);
const cursor = z.string().min(1).max(1_000);
const said = z.string().max(100);

/** The revision of a request that is wanted, as it stands in an address. */
const revision = z
  .string()
  .regex(/^[1-9]\d{0,3}$/)
  .transform(Number);

/** The addresses of the queue. */
export const queueQuery = z.strictObject({
  state: z.enum(['pending', 'allowed', 'denied', 'expired', 'withdrawn', 'superseded', 'refused']).exactOptional(),
  all: z.literal('1').exactOptional(),
  server: text.exactOptional(),
  tool: text.exactOptional(),
  subject: text.exactOptional(),
  cursor: cursor.exactOptional(),
});

export const requestQuery = z.object({ revision: revision.exactOptional(), said: said.exactOptional() });

export const operationsQuery = z.strictObject({
  state: z.enum(['dispatched', 'executed', 'failed', 'unknown']).exactOptional(),
  cursor: cursor.exactOptional(),
});

export const saidQuery = z.object({ said: said.exactOptional() });

export const grantsQuery = z.object({ all: z.literal('1').exactOptional(), said: said.exactOptional() });

export const reportQuery = z.strictObject({ window: z.enum(REPORT_WINDOWS).exactOptional() });
