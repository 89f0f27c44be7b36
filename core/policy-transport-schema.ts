import { z } from 'zod';
import { digestOf } from './digest';
import type { ServerEntry, Transport } from './policy';
import { complain, matching, shape, toolName } from './policy-fields';
import { httpUrl, judgeSecret, literalText, referenceText } from './policy-secret';

const headerName = matching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, 'must be the name of an HTTP header');
const variableName = matching(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of an environment variable');

/** Values by name, of which none may be a credential that is written out. */
function secretSafe(values: Readonly<Record<string, string>>, context: z.core.$RefinementCtx): void {
  for (const [name, value] of Object.entries(values)) {
    const complaint = judgeSecret(name, value);
    if (complaint !== null) complain(context, { ...complaint, path: [name] });
  }
}

/** HTTP headers by name; no credential that is written out. */
export const headerMap = z.record(headerName, referenceText).superRefine(secretSafe).default({});

const http = shape({ url: httpUrl, headers: headerMap });

const stdio = shape({
  command: literalText,
  args: z.array(literalText).default([]),
  env: z.record(variableName, referenceText).superRefine(secretSafe).default({}),
  cwd: literalText.optional(),
});

/** A server without its name and with its tools unread. */
export type ServerHead = Omit<ServerEntry, 'name' | 'tools'>;

/** One entry of `servers`; its tools are read one by one, so that one broken tool hides no other mistake. */
export const serverSchema = shape({
  http: http.optional(),
  stdio: stdio.optional(),
  hints: z.enum(['trusted', 'untrusted']).default('untrusted'),
  session: z.enum(['client', 'independent']).default('independent'),
  enabled: z.boolean().default(true),
  tools: z.record(toolName, z.unknown()).default({}),
}).transform((given, context): ServerHead => {
  const { hints, session, enabled } = given;
  const found: Transport[] = [];
  if (given.http !== undefined) found.push({ kind: 'http', ...given.http });
  if (given.stdio !== undefined) found.push({ kind: 'stdio', ...given.stdio, cwd: given.stdio.cwd ?? null });
  const [transport] = found;
  if (transport !== undefined && found.length === 1) {
    return { transport, hints, session, enabled, identity: digestOf(['holdpoint/server/1', transport]) };
  }
  return complain(context, {
    message: 'must say in exactly one way how to reach the server',
    hint: 'Write either "http: { url: … }" or "stdio: { command: … }".',
  });
});
