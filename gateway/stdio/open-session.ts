import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Requester } from '../../core/requester';
import { EventResponse } from '../wire/event-response';
import { idText } from '../wire/raw-json';
import { SERVER_ERROR, errorText, refuse } from '../wire/refusal';
import type { ProcessStart, ServerProcess } from './server-process';
import type { SessionTable } from './session-table';
import type { StartBackoff } from './start-backoff';
import { StdioSession } from './stdio-session';
import type { StdioSessionOptions } from './stdio-session';

const SESSION_ID_BYTES = 32;
const LEFT = 'its client left before it had begun';

/** Starts what a session of this requester speaks to. */
export type StartProcess = (requester: Requester) => Promise<ProcessStart>;

export interface OpenSessionOptions extends Pick<StdioSessionOptions, 'server' | 'gate' | 'log' | 'limits'> {
  readonly start: StartProcess;
  readonly table: SessionTable;
  readonly backoff: StartBackoff;
  /** Every session whose process may run: also while it begins, and after its client has left. */
  readonly living: Set<StdioSession>;
  /** Aborted when the endpoint closes. */
  readonly closing: AbortSignal;
}

export interface Opening {
  readonly initialize: StdioSessionOptions['initialize'];
  readonly requester: Requester;
  readonly res: ServerResponse;
}

/** Begins a session for a client's `initialize`: a process of its own, to which the message goes as it is. */
export async function openSession(options: OpenSessionOptions, opening: Opening): Promise<void> {
  const { table, limits, server, backoff } = options;
  const { requester, res, initialize } = opening;
  const id = idText(initialize.text);
  if (!table.reserve(requester)) {
    const message = `You have ${limits.sessionsPerRequester} sessions in use at this server; end one (DELETE) first`;
    refuse(res, { status: 429, code: SERVER_ERROR, message, idText: id, headers: { 'Retry-After': '10' } });
    return;
  }
  const detail = backoff.reason === undefined ? await begin(options, opening) : `${backoff.reason} (a moment ago)`;
  table.giveUp(requester);
  if (detail === undefined) return;
  const text = errorText(id, SERVER_ERROR, `The server "${server}" cannot be started: ${detail}`);
  await new EventResponse({ res, headers: {} }).answer(text);
}

/** Why there is no session; undefined where the client has its answer, or has left. */
async function begin(options: OpenSessionOptions, opening: Opening): Promise<string | undefined> {
  const { backoff, table, start } = options;
  const { res, requester } = opening;
  const started = await start(requester);
  if (!started.ok) {
    backoff.failed(started.detail);
    return started.detail;
  }
  const session = sessionOf(options, opening, started.process);
  const response = new EventResponse({ res, headers: session.headers });
  response.onLeft(() => session.close(LEFT));
  const greeting = await session.greet();
  if (!greeting.ok) {
    session.close(greeting.detail);
    if (!response.isOpen) return undefined;
    backoff.failed(greeting.detail);
    return greeting.detail;
  }
  backoff.started();
  if (!greeting.agreed) {
    session.close('it was refused by the server');
    await new EventResponse({ res, headers: {} }).answer(greeting.line);
    return undefined;
  }
  // Before the answer is out: the client may use the session as soon as it has read it.
  table.add(session);
  if (!(await response.answer(greeting.line))) session.close(LEFT);
  return undefined;
}

function sessionOf(
  { table, living, closing, ...options }: OpenSessionOptions,
  { initialize, requester }: Opening,
  process: ServerProcess,
): StdioSession {
  const session = new StdioSession({
    ...options,
    ...{ initialize, requester, process },
    id: randomBytes(SESSION_ID_BYTES).toString('base64url'),
    onEnd: (ended) => table.remove(ended),
    onDead: (dead) => living.delete(dead),
  });
  living.add(session);
  if (closing.aborted) session.close('the gateway is stopping');
  return session;
}
