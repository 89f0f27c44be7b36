import { storable } from './display';

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
    message:
      'No access entry lets {requester} call {tool} on {server}. Ask an operator to grant access; an approval cannot.',
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
  CARD_TOO_LARGE: {
    message:
      'What reviewers would have to read of this call has {bytes} bytes; the calls of a turn have {limit} together, of which {left} are left. Propose it in a turn of its own, or with less.',
    retryable: false,
  },
  DENIALS_REPEATED: {
    message: 'This call was denied {count} times within the hour. It may be proposed again in {waitSeconds} s.',
    retryable: true,
  },
  LEDGER_BUSY: {
    message:
      'The ledger {ledger} was locked by others for too long: {detail}. Nothing of this step was recorded; try again, and look for a process that holds its lock.',
    retryable: true,
  },
  LEDGER_CLOSED: {
    message: 'The ledger {ledger} was closed by this process. Nothing of this step was recorded; try again.',
    retryable: true,
  },
  LEDGER_DAMAGED: {
    message:
      'The ledger {ledger} is damaged or not a ledger: {detail}. Nothing was recorded and nothing runs; correct the path, or restore a backup.',
    retryable: false,
  },
  LEDGER_ENGINE: {
    message:
      'The ledger needs {engine} {needed} or later, this is {version}. Nothing was opened; update it, then start again.',
    retryable: false,
  },
  LEDGER_FULL: {
    message:
      'The disk of the ledger {ledger} is full. Nothing of this step was recorded and nothing runs; free space, then try again.',
    retryable: true,
  },
  LEDGER_OLDER: {
    message:
      'The ledger {ledger} is of an older release: it has {found}, this release needs {known}. Nothing was read or changed; start a worker of this release, or apply a policy with it, which brings the ledger up to date.',
    retryable: false,
  },
  LEDGER_READ_ONLY: {
    message:
      'The ledger {ledger} cannot be written to: {detail}. Nothing of this step was recorded and nothing runs; give this process write access to it and to its folder.',
    retryable: true,
  },
  LEDGER_RESTORED: {
    message:
      'The ledger is not the one that Temporal last saw: {detail}. It may have forgotten what was sent, so nothing runs. Look at the operations since, then accept it: holdpoint ledger accept.',
    retryable: false,
  },
  LEDGER_UNCERTAIN: {
    message:
      'The ledger {ledger} failed while it committed this step: {detail}. The step is recorded as a whole or not at all; ask again, it is never applied twice.',
    retryable: true,
  },
  LEDGER_UNREACHABLE: {
    message:
      'The ledger {ledger} cannot be reached: {detail}. Nothing of this step was recorded and nothing runs; start it or correct its address, then try again.',
    retryable: true,
  },
  LEDGER_URL: {
    message:
      'The ledger is named by file:/absolute/path/ledger.db or postgres://user@host/database, not by {received}. Nothing was opened; correct it.',
    retryable: false,
  },
  LEDGER_VERSION: {
    message:
      'The ledger {ledger} was written by a newer release: it has {found}, this release knows up to {known}. Nothing was changed; run the newer release.',
    retryable: false,
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
    message:
      'There are {count} open approval requests of {requester}, over all agents; the limit is {limit}. Wait until one is decided, or take a turn back: "holdpoint requests" lists the requests, "holdpoint show ID" names the turn, "holdpoint turn withdraw TURN" takes it back.',
    retryable: true,
  },
  PAYLOAD_UNREADABLE: {
    message:
      'The answer cannot be decoded: {detail}. Set HOLDPOINT_PAYLOAD_KEY to the key of the workers, here and there.',
    retryable: false,
  },
  PERMIT_ALGORITHM: {
    message: 'The permit is signed by {algorithm}; only EdDSA is accepted. Refuse the call.',
    retryable: false,
  },
  PERMIT_EXPIRED: {
    message: 'The permit {id} expired at {expired}. Refuse the call; a later attempt brings a permit of its own.',
    retryable: false,
  },
  PERMIT_KEY: {
    message: 'The permit key {file} cannot be used: {detail}.',
    retryable: false,
  },
  PERMIT_MALFORMED: {
    message: 'This is not a permit: {detail}. Refuse the call.',
    retryable: false,
  },
  PERMIT_MISMATCH: {
    message: 'The permit {id} is for another call: its {field} differs. Refuse the call.',
    retryable: false,
  },
  PERMIT_SIGNATURE: {
    message: 'The signature of the permit does not fit its content. Refuse the call.',
    retryable: false,
  },
  PERMIT_UNKNOWN_KEY: {
    message: 'The permit is signed by key {key}, which is not among the keys given: {detail}. Refuse the call.',
    retryable: true,
  },
  PORT_TAKEN: {
    message: 'The port {port} cannot be listened on: {detail}. Stop what uses it, or choose another port.',
    retryable: true,
  },
  RESULT_GONE: {
    message: 'The stored result of operation {operation} is not there, or is not what the turn recorded.',
    retryable: false,
  },
  SERVER_UNKNOWN: {
    message: 'No server {server} in the active policy. Known: {known}.',
    retryable: false,
  },
  SERVER_UNREACHABLE: {
    message: 'The server {server} cannot be reached: {detail}. Nothing was sent; try again when it is up.',
    retryable: true,
  },
  TEMPORAL_BINARY_MISSING: {
    message:
      'No usable Temporal CLI was found. Tried:\n{tried}\nInstall it (https://docs.temporal.io/cli), or set TEMPORAL_CLI_PATH to it.',
    retryable: false,
  },
  TEMPORAL_REFUSED: {
    message:
      'The Temporal server refused the request: {detail}. Nothing was recorded; correct the settings of the connection.',
    retryable: false,
  },
  TEMPORAL_SERVER_FAILED: {
    message: 'The Temporal server did not start: {detail}',
    retryable: true,
  },
  TEMPORAL_UNREACHABLE: {
    message:
      'The Temporal server cannot be reached: {detail}. Nothing was recorded; check TEMPORAL_ADDRESS and that the server is up.',
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
  TURN_ENDED_EARLY: {
    message:
      'The turn {turn} was ended from outside: {detail}. What was sent is on record; start it again with the same content to read it.',
    retryable: true,
  },
  TURN_INVALID: {
    message: 'The turn cannot be started: {detail}.',
    retryable: false,
  },
  TURN_NOT_FOUND: {
    message:
      'Temporal has no such turn under way: {turn}. Check its id and the subject of its requester; a turn that has ended takes nothing back.',
    retryable: false,
  },
  TURN_NO_ANSWER: {
    message: 'The turn {turn} did not answer in 5 s: no worker holds it. It is kept; try again when a worker is up.',
    retryable: true,
  },
  UNSTABLE: {
    message:
      'What was approved changed {count} times before it could run: {detail}. Propose the call again when it is stable.',
    retryable: true,
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** A stated refusal or failure: `detail` is the whole message for a person, `code` is for programs. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly detail: string;
}

/** A value may come from a model or a server; a message that carries it whole could fill a history. */
const LONGEST_VALUE = 2_000;

/**
 * The catalogue's message for `code` with `values` in its places; one not given shows as `?`, a long one is cut, and a full stop that
 * it brings is not doubled. It can
 * be stored and digested whatever the values hold.
 */
export function refusal(code: ErrorCode, values: Readonly<Record<string, string | number>> = {}): Refusal {
  const detail = ERRORS[code].message.replace(/\{(\w+)\}(\.?)/g, (_, name: string, stop: string) => {
    const value = shown(values[name]);
    return value.endsWith('.') ? value : `${value}${stop}`;
  });
  return { code, detail };
}

function shown(value: string | number = '?'): string {
  return storable(String(value), LONGEST_VALUE);
}
