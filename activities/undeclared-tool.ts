import type { ToolEntry } from '../core/policy';

/** The entry of a tool of which the policy says nothing: enabled, with nothing declared. */
export function undeclaredTool(name: string): ToolEntry {
  return {
    name,
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
}
