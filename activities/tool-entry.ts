import type { ServerEntry, ToolEntry } from '../core/policy';

/** The policy's entry for a tool, or that of a tool of which the policy says nothing: enabled, with nothing declared. */
export function toolEntryOf(server: ServerEntry, tool: string): ToolEntry {
  const entry = Object.hasOwn(server.tools, tool) ? server.tools[tool] : undefined;
  return entry ?? { ...UNDECLARED, name: tool };
}

const UNDECLARED: Omit<ToolEntry, 'name'> = {
  enabled: true,
  fill: {},
  material: [],
  version: null,
  preview: null,
  state: null,
  outcome: null,
  idempotent: false,
  classification: null,
  reversible: null,
  expected: null,
  secrets: [],
  timeoutMs: 60_000,
  destructive: null,
};
