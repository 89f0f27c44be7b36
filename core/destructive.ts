import type { ToolHints } from './evaluation';
import type { Policy } from './policy';
import { serverOf, toolOf } from './policy-lookup';

/** A call's tool, for the question whether it counts as destructive. */
export type ToolFacts = { readonly server: string; readonly tool: string; readonly hints: ToolHints };

/**
 * Whether a tool counts as destructive. What the operator writes wins. A trusted server's hints count: read-only, or
 * said not to be destructive, is not. Everything else is: no hints (the default of MCP), and whatever an untrusted
 * server says, because its hints can raise the risk and never lower it.
 */
export function isDestructive(policy: Policy, { server, tool, hints }: ToolFacts): boolean {
  const stated = toolOf(policy, server, tool)?.destructive ?? null;
  if (stated !== null) return stated;
  if (serverOf(policy, server)?.hints !== 'trusted') return true;
  return hints.readOnly !== true && hints.destructive !== false;
}
