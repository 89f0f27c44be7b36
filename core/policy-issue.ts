import type { z } from 'zod';
import { atPointer } from './json';
import type { JsonValue } from './json';
import { nearestName } from './nearest-name';
import { nameText, namesText, pathText, pointerTo, quoted, received } from './policy-fault';
import type { PolicyFault, PolicyPath } from './policy-fault';

type Issue = z.core.$ZodIssue;

type Said = Pick<PolicyFault, 'code' | 'message' | 'hint'>;

/** What was read: the value that a schema refused, and where in the policy it stands. */
export type ReadSpot = { readonly value: JsonValue; readonly path: PolicyPath };

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

const MISPLACED: Readonly<Record<string, string>> = {
  selfApproval: 'It belongs to the rule itself, beside "approvers".',
  quorum: 'It belongs into "approvers".',
  remindEvery: 'It belongs into "deadline".',
};

/** What somebody writes who wants silence to count as consent. */
const APPROVING = /^(allow|approve|accept|grant|permit|run|execute)/i;

/** What stands under these keys may be a credential, so no message repeats it. */
const NEVER_SHOWN: readonly string[] = ['headers', 'env', 'args', 'url', 'database', 'key'];

/** The mistakes of one value in words: at each place the first, and nothing that only follows from a misspelt key. */
export function faultsOfIssues(issues: readonly Issue[], spot: ReadSpot): PolicyFault[] {
  const faults = issues.flatMap((issue) => faultsOf(issue, spot));
  const told = new Set(faults.filter(({ code }) => code === 'POLICY_UNKNOWN_KEY').flatMap(explainedBy));
  return faults.filter((fault) => {
    const place = placeKey(fault.code === 'POLICY_MISSING_KEY' ? 'missing' : fault.at, fault.path);
    if (told.has(place)) return false;
    told.add(place);
    return true;
  });
}

/** A key that was meant is not missing, and what its mapping lacks as a whole is not known yet. */
function explainedBy({ path, hint }: PolicyFault): string[] {
  const parent = path.slice(0, -1);
  const meant = /^Did you mean "(.*)"\?$/.exec(hint ?? '')?.[1] ?? '';
  return [placeKey('missing', [...parent, meant]), placeKey('value', parent)];
}

function placeKey(what: string, path: PolicyPath): string {
  return `${what} ${pathText(path)}`;
}

function faultsOf(issue: Issue, { value, path }: ReadSpot): PolicyFault[] {
  const inner = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
  const at = [...path, ...inner];
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(key, at, issue.message.split(' ')));
  const target = atPointer(value, inner.map((step) => pointerTo(String(step))).join(''));
  if (!target.found) return [missingKey(at)];
  if (issue.code === 'invalid_key') return issue.issues.map((keyIssue) => badKey(keyIssue, at));
  return [{ ...badValue(issue, at, target.value), path: at, at: 'value' }];
}

function unknownKey(key: string, parent: PolicyPath, allowed: readonly string[]): PolicyFault {
  const nearest = nearestName(key, allowed);
  return {
    code: 'POLICY_UNKNOWN_KEY',
    path: [...parent, key],
    at: 'key',
    message: `${pathText([...parent, key])} is not a key here; allowed: ${namesText(allowed)}`,
    hint: nearest === null ? (MISPLACED[key] ?? null) : didYouMean(nearest),
  };
}

/** The hint that goes with a name which is nearly another. */
export function didYouMean(name: string): string {
  return `Did you mean ${quoted(name)}?`;
}

function missingKey(path: PolicyPath): PolicyFault {
  const key = String(path.at(-1));
  const parent = path.slice(0, -1);
  const hint =
    parent.length === 0 ? `Write it even if it is empty: "${key}: ${key === 'servers' ? '{}' : '[]'}".` : null;
  return { code: 'POLICY_MISSING_KEY', path, at: 'key', message: `${pathText(parent)} has no ${quoted(key)}`, hint };
}

function badKey(issue: Issue, path: PolicyPath): PolicyFault {
  const message = `the name ${quoted(String(path.at(-1)))} ${issue.message}`;
  return { code: 'POLICY_BAD_VALUE', path, at: 'key', message, hint: hintOf(issue) };
}

function badValue(issue: Issue, path: PolicyPath, value: JsonValue): Said {
  const name = pathText(path);
  const hidden = path.some((step) => NEVER_SHOWN.includes(String(step)));
  const not = hidden ? '' : `, not ${received(value)}`;
  if (issue.code === 'invalid_type') {
    const message = `${name} must be ${TYPE_NAMES[issue.expected] ?? issue.expected}${not}`;
    return {
      code: 'POLICY_WRONG_TYPE',
      message,
      hint: hidden && issue.expected !== 'string' ? null : typeHint(issue.expected, path, value),
    };
  }
  if (issue.code === 'invalid_value') {
    const allowed = issue.values.map(String);
    const message = `${name} must be ${allowed.length === 1 ? '' : 'one of '}${allowed.join(', ')}${not}`;
    return { code: 'POLICY_BAD_VALUE', message, hint: valueHint(path, value, allowed) };
  }
  const shown = hidden || (value !== null && typeof value === 'object') ? '' : `; received ${received(value)}`;
  return { code: 'POLICY_BAD_VALUE', message: `${name} ${ruleOf(issue)}${shown}`, hint: hintOf(issue) };
}

function ruleOf(issue: Issue): string {
  if (issue.code === 'too_big') {
    return issue.origin === 'array' ? `must have at most ${issue.maximum} entries` : `must be at most ${issue.maximum}`;
  }
  if (issue.code !== 'too_small') return issue.message;
  if (issue.origin === 'array') return 'must have at least one entry';
  return `must be ${issue.inclusive === true ? 'at least' : 'more than'} ${issue.minimum}`;
}

function typeHint(expected: string, path: PolicyPath, value: JsonValue): string | null {
  if (typeof value === 'object') return null;
  const text = nameText(String(value));
  if (expected === 'array' && typeof value === 'string') return `Write a list: [${text}].`;
  if (expected === 'string') return 'Put it in quotes.';
  if (expected === 'boolean') return booleanHint(text.toLowerCase());
  if (path.at(-1) === 'deadline') return `Write { after: ${text} }.`;
  return path.at(-2) === 'when' ? `Write { is: ${text} }.` : null;
}

function booleanHint(word: string): string | null {
  const meant = ['yes', 'on', 'y'].includes(word) ? 'true' : ['no', 'off', 'n'].includes(word) ? 'false' : null;
  return meant === null ? null : `Write ${meant}: YAML 1.2 knows only true and false.`;
}

function valueHint(path: PolicyPath, value: JsonValue, allowed: readonly string[]): string | null {
  if (typeof value !== 'string') return null;
  if (path.at(-1) === 'then' && APPROVING.test(value)) {
    return 'An approval by time-out cannot be written: silence never allows a call. Write expire or keepWaiting.';
  }
  if (path.at(-1) === 'then' && value === 'escalate') return 'Write "escalate" in the rule, beside "deadline".';
  if (path.at(-1) === 'scope') return `To name tools write { tools: [${nameText(value)}] }.`;
  const nearest = nearestName(value, allowed);
  return nearest === null ? null : didYouMean(nearest);
}

function hintOf(issue: Issue): string | null {
  const hint: unknown = issue.code === 'custom' ? issue.params?.['hint'] : null;
  return typeof hint === 'string' ? hint : null;
}
