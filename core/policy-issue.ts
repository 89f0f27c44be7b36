import type { z } from 'zod';
import { atPointer } from './json';
import type { JsonValue } from './json';
import { nearestName } from './nearest-name';
import { namesText, pathText, quoted, received } from './policy-fault';
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

/** The mistakes of one value in words. A key that is only misspelt is not reported as missing too. */
export function faultsOfIssues(issues: readonly Issue[], spot: ReadSpot): PolicyFault[] {
  const faults = issues.flatMap((issue) => faultsOf(issue, spot));
  const meant = new Set(
    faults.map(({ hint, path }) => (hint === null ? '' : `${pathText(path.slice(0, -1))} ${hint}`)),
  );
  return faults.filter(({ code, path }) => {
    const parent = pathText(path.slice(0, -1));
    return code !== 'POLICY_MISSING_KEY' || !meant.has(`${parent} ${didYouMean(String(path.at(-1)))}`);
  });
}

function faultsOf(issue: Issue, { value, path }: ReadSpot): PolicyFault[] {
  const inner = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
  const at = [...path, ...inner];
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(key, at, issue.message.split(' ')));
  const target = atPointer(
    value,
    inner.map((step) => `/${String(step).replace(/~/g, '~0').replace(/\//g, '~1')}`).join(''),
  );
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
  if (issue.code === 'invalid_type') {
    const message = `${name} must be ${TYPE_NAMES[issue.expected] ?? issue.expected}, not ${received(value)}`;
    return { code: 'POLICY_WRONG_TYPE', message, hint: typeHint(issue.expected, value) };
  }
  if (issue.code === 'invalid_value') {
    const allowed = issue.values.map(String);
    const message = `${name} must be ${allowed.length === 1 ? '' : 'one of '}${allowed.join(', ')}, not ${received(value)}`;
    return { code: 'POLICY_BAD_VALUE', message, hint: valueHint(path, value, allowed) };
  }
  const shown = typeof value === 'object' && value !== null ? '' : `, not ${received(value)}`;
  return { code: 'POLICY_BAD_VALUE', message: `${name} ${ruleOf(issue)}${shown}`, hint: hintOf(issue) };
}

function ruleOf(issue: Issue): string {
  if (issue.code === 'too_big') return `must be at most ${issue.maximum}${issue.origin === 'array' ? ' entries' : ''}`;
  if (issue.code !== 'too_small') return issue.message;
  if (issue.origin === 'array') return 'must have at least one entry';
  return `must be ${issue.inclusive === true ? 'at least' : 'more than'} ${issue.minimum}`;
}

function typeHint(expected: string, value: JsonValue): string | null {
  if (expected === 'array' && typeof value === 'string') return `Write a list: [${value}].`;
  if (expected === 'string' && (typeof value === 'number' || typeof value === 'boolean')) {
    return `Put it in quotes: "${value}".`;
  }
  const word = expected === 'boolean' && typeof value === 'string' ? value.toLowerCase() : '';
  if (['yes', 'on', 'y'].includes(word)) return 'Write true: YAML 1.2 knows only true and false.';
  return ['no', 'off', 'n'].includes(word) ? 'Write false: YAML 1.2 knows only true and false.' : null;
}

function valueHint(path: PolicyPath, value: JsonValue, allowed: readonly string[]): string | null {
  if (typeof value !== 'string') return null;
  if (path.at(-1) === 'then' && APPROVING.test(value)) {
    return 'An approval by time-out cannot be written: silence never allows a call. Write expire or keepWaiting.';
  }
  if (path.at(-1) === 'then' && value === 'escalate') return 'Write "escalate" in the rule, beside "deadline".';
  if (path.at(-1) === 'scope') return `To name tools write { tools: [${value}] }.`;
  const nearest = nearestName(value, allowed);
  return nearest === null ? null : didYouMean(nearest);
}

function hintOf(issue: Issue): string | null {
  const hint: unknown = issue.code === 'custom' ? issue.params?.['hint'] : null;
  return typeof hint === 'string' ? hint : null;
}
