import { undeclaredTool } from '../../activities/undeclared-tool';
import { refusal, type Refusal } from '../../core/errors';
import { evaluate } from '../../core/evaluate-policy';
import type { ToolHints } from '../../core/evaluation';
import { readMaterial } from '../../core/material';
import type { Policy, ToolEntry } from '../../core/policy';
import { serverOf, toolOf } from '../../core/policy-lookup';
import type { JsonObject } from '../../core/json';
import type { Requester } from '../../core/requester';

/** What the policy says of a call before anything is asked of anybody. */
export type Gating =
  { readonly kind: 'pass' } | { readonly kind: 'hold' } | { readonly kind: 'refuse'; readonly refusal: Refusal };

export interface GatingFacts {
  readonly requester: Requester;
  readonly server: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly hints: ToolHints;
}

/**
 * Whether a call goes straight upstream, is held, or is refused. What cannot be told from the arguments alone (a
 * condition or an access entry on the target's state) is held: the opening reads it and judges.
 */
export function gatingOf(policy: Policy, facts: GatingFacts): Gating {
  const { server, tool } = facts;
  if (serverOf(policy, server) === undefined) return { kind: 'refuse', refusal: unknownServer(server) };
  const entry = entryOf(policy, server, tool);
  const material = readMaterial(entry, facts.arguments, null);
  const verdict = evaluate(policy, { ...facts, material }, false);
  if (verdict.access === 'refused') {
    const judgedLater = verdict.code === 'ACCESS_DENIED' && entry.material.some(({ from }) => from === 'state');
    if (judgedLater) return { kind: 'hold' };
    return { kind: 'refuse', refusal: { code: verdict.code, detail: verdict.detail } };
  }
  // An argument that Holdpoint fills carries the operation's id, which only a held call has.
  const isHeld = verdict.ask !== null || Object.keys(entry.fill).length > 0;
  return isHeld ? { kind: 'hold' } : { kind: 'pass' };
}

/** Whether any call of a tool may be held, for showing it in a list. */
export function mayBeHeld(policy: Policy, facts: Omit<GatingFacts, 'arguments'>): boolean {
  const { server, tool } = facts;
  const { fill } = entryOf(policy, server, tool);
  return (
    Object.keys(fill).length > 0 ||
    policy.rules.some((rule) => {
      if (rule.server !== server) return false;
      // Asked with the rule alone, without its conditions, which depend on the arguments.
      const only = { ...policy, rules: [{ ...rule, when: {} }], access: [openTo(server)] };
      const verdict = evaluate(only, { ...facts, material: [] }, false);
      return verdict.access === 'granted' && verdict.ask !== null;
    })
  );
}

export function entryOf(policy: Policy, server: string, tool: string): ToolEntry {
  return toolOf(policy, server, tool) ?? undeclaredTool(tool);
}

function openTo(server: string): Policy['access'][number] {
  return { subjects: ['*'], agents: ['*'], server, tools: ['*'], when: {} };
}

function unknownServer(server: string): Refusal {
  return refusal('SERVER_UNKNOWN', { server, known: 'none' });
}
