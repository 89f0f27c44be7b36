import { isAlias, isMap, isScalar, isSeq } from 'yaml';
import type { ParsedNode, YAMLMap } from 'yaml';
import type { JsonValue } from './json';
import { isWellFormed } from './json-value';
import { pathText, quoted } from './policy-fault';
import type { PolicyPath, PolicyProblemCode } from './policy-fault';
import type { Place } from './text-place';

/** A mistake in the text itself, at its place. */
export type PlacedFault = Place & {
  readonly code: PolicyProblemCode;
  readonly message: string;
  readonly hint: string | null;
};

/**
 * A policy text as plain data, with the place of each key and value. `faults` holds what does not keep the rest from
 * being checked (a key written twice: the first counts); `value` is undefined where the text cannot be used at all.
 */
export type PolicyTree = {
  readonly value: JsonValue | undefined;
  readonly faults: readonly PlacedFault[];
  /** The place of the key or value at `path`, or of the nearest thing around it that is written in the text. */
  readonly placeOf: (path: PolicyPath, at: 'key' | 'value') => Place;
};

type Places = { readonly key: Place; readonly value: Place };

/** What a walk through the nodes collects. `unusable`: a part has no value that could be checked. */
type Walk = {
  readonly placeAt: (offset: number) => Place;
  readonly places: Map<string, Places>;
  readonly faults: PlacedFault[];
  unusable: boolean;
};

/** A node and where it is. */
type Spot = { readonly node: ParsedNode; readonly path: PolicyPath };

/** Turns parsed nodes into plain data, and refuses what YAML has beyond plain data. */
export function readPolicyTree(root: ParsedNode, placeAt: (offset: number) => Place): PolicyTree {
  const walk: Walk = { placeAt, places: new Map(), faults: [], unusable: false };
  const start = placeAt(root.range[0]);
  const value = valueOf({ node: root, path: [] }, walk);
  return {
    value: walk.unusable ? undefined : value,
    faults: walk.faults,
    placeOf: (path, at) => placeIn(walk.places, path, at) ?? start,
  };
}

function placeIn(places: ReadonlyMap<string, Places>, path: PolicyPath, at: 'key' | 'value'): Place | undefined {
  for (let length = path.length; length > 0; length -= 1) {
    const found = places.get(JSON.stringify(path.slice(0, length)));
    // What is around a missing thing is named by its key.
    if (found !== undefined) return length === path.length ? found[at] : found.key;
  }
  return undefined;
}

function valueOf({ node, path }: Spot, walk: Walk): JsonValue {
  refuseFeatures(node, walk);
  if (isMap(node)) return mappingOf(node, path, walk);
  if (isScalar(node)) return scalarOf({ node, path }, node.value, walk);
  if (!isSeq(node)) return null;
  return node.items.map((item, index) => {
    const place = walk.placeAt(item.range[0]);
    walk.places.set(JSON.stringify([...path, index]), { key: place, value: place });
    return valueOf({ node: item, path: [...path, index] }, walk);
  });
}

function refuseFeatures(node: ParsedNode, walk: Walk): void {
  const refuse = (message: string, hint: string) => {
    walk.unusable = true;
    addFault(walk, node, { code: 'POLICY_YAML_FEATURE', message: `${message} is not allowed`, hint });
  };
  if (isAlias(node)) refuse(`the alias ${quoted(node.source)}`, 'Write the value out where it is used.');
  if (node.anchor !== undefined) refuse(`the anchor ${quoted(node.anchor)}`, 'Write the value out where it is used.');
  if (node.tag !== undefined) refuse(`the tag ${quoted(node.tag)}`, 'Remove the tag, and put text in quotes.');
}

function mappingOf(node: YAMLMap.Parsed, path: PolicyPath, walk: Walk): JsonValue {
  const members = new Map<string, JsonValue>();
  for (const pair of node.items) {
    const name = keyOf(pair.key, walk);
    if (name === null) continue;
    const inner = [...path, name];
    const first = walk.places.get(JSON.stringify(inner));
    if (first !== undefined) {
      addFault(walk, pair.key, duplicateKey(inner, first.key));
      continue;
    }
    const key = walk.placeAt(pair.key.range[0]);
    walk.places.set(JSON.stringify(inner), { key, value: pair.value ? walk.placeAt(pair.value.range[0]) : key });
    members.set(name, pair.value ? valueOf({ node: pair.value, path: inner }, walk) : null);
  }
  return Object.fromEntries(members);
}

function duplicateKey(path: PolicyPath, first: Place): Omit<PlacedFault, keyof Place> {
  const message = `${pathText(path)} is written twice; the first is in line ${first.line}`;
  return { code: 'POLICY_DUPLICATE_KEY', message, hint: 'Keep one of them.' };
}

function keyOf(node: ParsedNode, walk: Walk): string | null {
  refuseFeatures(node, walk);
  const key = isScalar(node) ? node.value : undefined;
  if (typeof key === 'string' && key !== '<<' && key !== '__proto__' && isWellFormed(key)) return key;
  walk.unusable = true;
  const said =
    key === '<<'
      ? { message: 'merge keys (<<) are not allowed', hint: 'Write the keys out where they are used.' }
      : { message: 'a key must be text', hint: 'Put a key that looks like a number, true, false or null in quotes.' };
  addFault(walk, node, { code: 'POLICY_YAML_FEATURE', ...said });
  return null;
}

function scalarOf(spot: Spot, value: unknown, walk: Walk): JsonValue {
  const say = (what: string, hint: string) => {
    addFault(walk, spot.node, { code: 'POLICY_BAD_VALUE', message: `${pathText(spot.path)} ${what}`, hint });
  };
  if (typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') {
    if (!isExact(value)) say('is a number that cannot be kept exactly', 'Put it in quotes if it is text.');
    return value;
  }
  if (typeof value === 'string' && isWellFormed(value)) return value;
  say('holds half of a character', 'Correct the \\u escape.');
  walk.unusable = true;
  return null;
}

function isExact(value: number): boolean {
  return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
}

function addFault(walk: Walk, node: ParsedNode, said: Omit<PlacedFault, keyof Place>): void {
  walk.faults.push({ ...walk.placeAt(node.range[0]), ...said });
}
