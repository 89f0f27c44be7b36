import type { z } from 'zod';
import { isJsonArray, isJsonObject } from './json';
import type { JsonObject, JsonValue } from './json';
import type { AccessEntry, ConsoleEntry, Person, ServerEntry, ToolEntry } from './policy';
import type { PolicyFault, PolicyPath } from './policy-fault';
import { faultsOfIssues } from './policy-issue';
import { accessSchema, ruleSchema } from './policy-rule-schema';
import type { DraftRule } from './policy-rule-schema';
import { consoleSchema, personSchema, policySchema, toPerson } from './policy-schema';
import { toolSchema } from './policy-tool-schema';
import { serverSchema } from './policy-transport-schema';

/** A server as far as it could be read; a tool that is named but broken is null. */
export type DraftServer = Omit<ServerEntry, 'tools'> & { readonly tools: ReadonlyMap<string, ToolEntry | null> };

/** An entry of a list that could be read, and its position in the file. */
export type Listed<Entry> = { readonly index: number; readonly entry: Entry };

/**
 * A policy whose entries are each well formed, but not yet judged against each other. What is named but broken is null,
 * so that the checks between entries do not call it unknown.
 */
export type PolicyDraft = {
  readonly trust: 'signatures' | 'namespace' | null;
  readonly people: ReadonlyMap<string, Person | null>;
  readonly console: ConsoleEntry | null;
  readonly servers: ReadonlyMap<string, DraftServer | null>;
  readonly access: readonly Listed<AccessEntry>[];
  readonly rules: readonly Listed<DraftRule>[];
};

type Spot = { readonly value: JsonValue; readonly path: PolicyPath };

type Read = <Output>(schema: z.ZodType<Output>, spot: Spot) => Output | null;

/** `draft` is null where `people` or `servers` as a whole cannot be read: every name would seem unknown. */
export type DraftReading = { readonly draft: PolicyDraft | null; readonly faults: readonly PolicyFault[] };

/** Reads each entry of a policy by its schema. `faults` has every mistake of form; the draft has what is well formed. */
export function readDraft(root: JsonValue): DraftReading {
  const faults: PolicyFault[] = [];
  const read: Read = (schema, spot) => {
    const result = schema.safeParse(spot.value);
    if (result.success) return result.data;
    faults.push(...faultsOfIssues(result.error.issues, spot));
    return null;
  };
  const head = read(policySchema, { value: root, path: [] });
  const sections = isJsonObject(root) ? root : {};
  const draft: PolicyDraft = {
    trust: head?.trust ?? null,
    people: readMembers(sections, ['people'], (spot, name) => {
      const given = read(personSchema, spot);
      return given === null ? null : toPerson(name, given);
    }),
    console:
      sections['console'] === undefined ? null : read(consoleSchema, { value: sections['console'], path: ['console'] }),
    servers: readMembers(sections, ['servers'], (spot, name) => readServer(read, spot, name)),
    access: readItems(sections, 'access', (spot) => read(accessSchema, spot)),
    rules: readItems(sections, 'rules', (spot) => read(ruleSchema, spot)),
  };
  const readable = isJsonObject(sections['servers'] ?? null) && isJsonObject(sections['people'] ?? {});
  return { draft: readable ? draft : null, faults };
}

function readServer(read: Read, spot: Spot, name: string): DraftServer | null {
  const head = read(serverSchema, spot);
  const members = isJsonObject(spot.value) ? spot.value : {};
  const tools = readMembers(members, [...spot.path, 'tools'], (inner, tool) => {
    const given = read(toolSchema, inner);
    return given === null ? null : { name: tool, ...given };
  });
  return head === null ? null : { name, ...head, tools };
}

/** The members of the mapping that stands under the last step of `path` in `parent`. */
function readMembers<Entry>(
  parent: JsonObject,
  path: PolicyPath,
  readMember: (spot: Spot, name: string) => Entry,
): ReadonlyMap<string, Entry> {
  const section = parent[String(path.at(-1))] ?? null;
  const members = isJsonObject(section) ? Object.entries(section) : [];
  return new Map(members.map(([name, value]) => [name, readMember({ value, path: [...path, name] }, name)]));
}

function readItems<Entry>(parent: JsonObject, key: string, readItem: (spot: Spot) => Entry | null): Listed<Entry>[] {
  const section = parent[key] ?? null;
  const items = isJsonArray(section) ? section : [];
  return items.flatMap((value, index) => {
    const entry = readItem({ value, path: [key, index] });
    return entry === null ? [] : [{ index, entry }];
  });
}
