import type { Person, Policy, ServerEntry, ToolEntry } from './policy';

/** The server of this name; undefined where the policy has none, also for names such as `constructor`. */
export function serverOf(policy: Policy, name: string): ServerEntry | undefined {
  return Object.hasOwn(policy.servers, name) ? policy.servers[name] : undefined;
}

/** The policy's entry of a tool; undefined where it says nothing of it. */
export function toolOf(policy: Policy, server: string, tool: string): ToolEntry | undefined {
  const tools = serverOf(policy, server)?.tools ?? {};
  return Object.hasOwn(tools, tool) ? tools[tool] : undefined;
}

/** The person of this name; null where the policy lists none. */
export function personOf(policy: Policy, name: string): Person | null {
  const person = Object.hasOwn(policy.people, name) ? policy.people[name] : undefined;
  return person ?? null;
}
