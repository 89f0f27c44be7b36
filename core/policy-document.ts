import { Composer, LineCounter, Parser } from 'yaml';
import type { CST, Document } from 'yaml';
import { POLICY_LIMITS } from './policy-limits';
import { readPolicyTree } from './policy-tree';
import type { Place, PlacedFault, PolicyTree } from './policy-tree';

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
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > POLICY_LIMITS.fileBytes)
    return tooLarge(START, `the file has ${bytes} bytes, the limit is ${POLICY_LIMITS.fileBytes}`);
  const lines = new LineCounter();
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const tokens = [...new Parser(lines.addNewLine).parse(text)];
  const deep = tokenTooDeep(tokens);
  if (deep !== null) return tooLarge(placeAt(deep.offset), `more than ${POLICY_LIMITS.depth} levels inside each other`);
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

function textFaults(document: Document.Parsed, placeAt: (offset: number) => Place): PlacedFault[] {
  return [...document.errors, ...document.warnings].map(({ code, pos, message }) => ({
    ...placeAt(pos[0]),
    code: code === 'TAG_RESOLVE_FAILED' ? 'POLICY_YAML_FEATURE' : 'POLICY_SYNTAX',
    message,
    hint: SYNTAX_HINTS[code] ?? null,
  }));
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
