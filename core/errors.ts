/** One entry of the catalogue: the message template (`{name}` places), and whether the same call may succeed later. */
interface ErrorEntry {
  readonly message: string;
  readonly retryable: boolean;
}

/**
 * Every error and refusal that Holdpoint states, by code. `docs/errors.md` lists each; a test compares the two.
 * A message says the rule, the value received and what to do next; never a secret.
 */
export const ERRORS = {
  ACCESS_DENIED: {
    message: 'No access entry lets {requester} call {tool} on {server}. Ask an operator to grant access; an approval cannot.',
    retryable: false,
  },
  ARGUMENTS_INVALID: {
    message: 'The arguments of {tool} on {server} do not fit the tool: {detail}. Correct them and propose a new call.',
    retryable: false,
  },
  ARGUMENT_RESERVED: {
    message: 'The argument {name} of {tool} is filled by Holdpoint. Leave it out and propose a new call.',
    retryable: false,
  },
  DENIALS_REPEATED: {
    message: 'This call was denied {count} times within the hour. It may be proposed again in {waitSeconds} s.',
    retryable: true,
  },
  NO_POLICY: {
    message: 'No policy is active, so nothing may run. An operator applies one: holdpoint policy apply FILE.',
    retryable: true,
  },
  NO_REVIEWERS: {
    message: 'Rule {rule} has too few eligible reviewers: {detail}. An operator corrects the policy.',
    retryable: false,
  },
  OPEN_REQUESTS_LIMIT: {
    message: '{requester} has {count} open approval requests, the limit is {limit}. Wait until one is decided, or withdraw one.',
    retryable: true,
  },
  SERVER_UNKNOWN: {
    message: 'No server {server} in the active policy. Known: {known}.',
    retryable: false,
  },
  SERVER_UNREACHABLE: {
    message: 'The server {server} cannot be reached: {detail}. Nothing was sent; try again when it is up.',
    retryable: true,
  },
  TOOL_DISABLED: {
    message: 'The tool {tool} on {server} is disabled in the active policy.',
    retryable: false,
  },
  TOOL_UNKNOWN: {
    message: 'The server {server} lists no tool {tool}.',
    retryable: false,
  },
  TURN_CONFLICT: {
    message: 'The turn {turn} exists with other content. The stored call is untouched; use a new turn id.',
    retryable: false,
  },
  TURN_INVALID: {
    message: 'The turn cannot be started: {detail}.',
    retryable: false,
  },
  UNSTABLE: {
    message: 'What was approved changed {count} times before it could run: {detail}. Propose the call again when it is stable.',
    retryable: true,
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** A stated refusal or failure: `detail` is the whole message for a person, `code` is for programs. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly detail: string;
}

/** The catalogue's message for `code` with `values` in its places; a value not given shows as `?`. */
export function refusal(code: ErrorCode, values: Readonly<Record<string, string | number>> = {}): Refusal {
  const detail = ERRORS[code].message.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? '?'));
  return { code, detail };
}
