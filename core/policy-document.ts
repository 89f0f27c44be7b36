import { Composer, Parser } from 'yaml';
import type { CST, Document } from 'yaml';
import { printable } from './policy-fault';
import { POLICY_LIMITS } from './policy-limits';
import { readPolicyTree } from './policy-tree';
import type { PlacedFault, PolicyTree } from './policy-tree';
import { placeFinder } from './text-place';
import type { Place } from './text-place';

const START: Place = { line: 1, column: 1 };

const SYNTAX_HINTS: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'Indent with spaces.',
  BAD_SCALAR_START: 'Put the value in quotes.',
};

/**
 * Reads YAML 1.2 (core schema) strictly: one document, no directive, anchor, alias, merge key or tag; warnings are
 * errors. Never throws.
 */
export function readPolicyDocument(text: string): PolicyTree {
  const { fileBytes, depth } = POLICY_LIMITS;
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > fileBytes) return tooLarge(START, `the file has ${bytes} bytes, the limit is ${fileBytes}`);
  const placeAt = placeFinder(text);
  const tokens = [...new Parser().parse(text)];
  const deep = tokenTooDeep(tokens);
  if (deep !== null) return tooLarge(placeAt(deep.offset), `more than ${depth} levels inside each other`);
  const [document, second] = compose(tokens);
  const faults = [
    ...directiveFaults(tokens, placeAt),
    ...(document === undefined ? [] : textFaults(document, placeAt)),
    ...(second === undefined ? [] : [secondFault(placeAt(second.range[0]))]),
  ];
  if (faults.length > 0) return unusable(faults);
  return document?.contents ? readPolicyTree(document.contents, placeAt) : unusable([EMPTY]);
}

function unusable(faults: readonly PlacedFault[]): PolicyTree {
  return { value: undefined, faults, placeOf: () => START };
}

function tooLarge(place: Place, message: string): PolicyTree {
  return unusable([{ ...place, code: 'POLICY_TOO_LARGE', message, hint: null }]);
}

function compose(tokens: readonly CST.Token[]): readonly Document.Parsed[] {
  const strict = { version: '1.2', schema: 'core', strict: true, uniqueKeys: false, merge: false } as const;
  return [...new Composer({ ...strict, prettyErrors: false, logLevel: 'silent' }).compose(tokens)];
}

/** The first mistake of syntax, because the others mostly follow from it, and each unknown tag. */
function textFaults(document: Document.Parsed, placeAt: (offset: number) => Place): PlacedFault[] {
  const syntax = document.errors.slice(0, 1).map(({ code, pos, message }): PlacedFault => {
    const hint = SYNTAX_HINTS[code] ?? null;
    return { ...placeAt(pos[0]), code: 'POLICY_SYNTAX', message: printable(message), hint };
  });
  const warned = document.warnings.map(({ pos, message }): PlacedFault => {
    const hint = 'Remove the tag, and put text in quotes.';
    return { ...placeAt(pos[0]), code: 'POLICY_YAML_FEATURE', message: printable(message), hint };
  });
  return [...syntax, ...warned];
}

/** `%YAML 1.1` would turn `no` into false. */
function directiveFaults(tokens: readonly CST.Token[], placeAt: (offset: number) => Place): PlacedFault[] {
  const message = 'directives such as %YAML are not allowed: a policy is YAML 1.2';
  return tokens
    .filter((token) => token.type === 'directive')
    .map(({ offset }) => ({ ...placeAt(offset), code: 'POLICY_YAML_FEATURE', message, hint: 'Remove the line.' }));
}

function secondFault(place: Place): PlacedFault {
  const message = 'a second document begins here; a policy is one document';
  return { ...place, code: 'POLICY_YAML_FEATURE', message, hint: 'Remove the "---", or split the file.' };
}

const EMPTY: PlacedFault = {
  ...START,
  code: 'POLICY_MISSING_KEY',
  message: 'the policy is empty',
  hint: 'Begin with "holdpoint init", or see docs/policy.md.',
};

/** Composing is recursive, parsing is not: depth is judged on tokens, before a hostile text can exhaust the stack. */
function tokenTooDeep(tokens: readonly CST.Token[]): CST.Token | null {
  const open = tokens.map((token) => ({ token, depth: 0 }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { token, depth } = next;
    if (depth > POLICY_LIMITS.depth) return token;
    if (token.type === 'document' && token.value !== undefined) open.push({ token: token.value, depth });
    if (!('items' in token)) continue;
    for (const item of token.items) {
      for (const inner of [item.key, item.value]) if (inner) open.push({ token: inner, depth: depth + 1 });
    }
  }
  return null;
}
