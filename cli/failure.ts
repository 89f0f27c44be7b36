import { isNativeError } from 'node:util/types';
import { WorkflowNotFoundError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { HoldpointError } from '../client';
import { ERRORS, type ErrorCode } from '../core/errors';
import { LedgerError } from '../ledger/ledger-error';
import { EXIT_CODES, type ExitName } from './exit-codes';
import type { Io } from './io';
import { paintFor } from './paint';
import { safeBlock } from './text';

/** Ends a command: what happened, and what to do about it. */
export class CliFailure extends Error {
  override readonly name = 'CliFailure';
  readonly exit: ExitName;
  readonly hint: string | null;

  constructor(exit: ExitName, message: string, hint: string | null = null) {
    super(message);
    this.exit = exit;
    this.hint = hint;
  }
}

/** Codes of the client that are no refusal. */
const EXITS: Partial<Record<ErrorCode, ExitName>> = {
  TEMPORAL_UNREACHABLE: 'unreachable',
  TURN_NO_ANSWER: 'unreachable',
  TEMPORAL_REFUSED: 'unreachable',
  TURN_NOT_FOUND: 'notFound',
  RESULT_GONE: 'notFound',
};

/** Writes what went wrong to stderr and gives the exit code. */
export function reportFailure({ stderr, env }: Io, error: unknown): number {
  const { exit, message, hint } = describe(error);
  const paint = paintFor(stderr);
  stderr.write(`${paint.red('holdpoint:')} ${safeBlock(message)}\n`);
  if (hint !== null) stderr.write(`${safeBlock(hint)}\n`);
  if (exit === 'bug' || env['HOLDPOINT_DEBUG'] === '1') stderr.write(`${safeBlock(stackOf(error))}\n`);
  return EXIT_CODES[exit].code;
}

interface Described {
  readonly exit: ExitName;
  readonly message: string;
  readonly hint: string | null;
}

function describe(error: unknown): Described {
  if (error instanceof CliFailure) return error;
  if (error instanceof LedgerError)
    return { exit: 'unreachable', message: `${error.message} [${error.code}]`, hint: null };
  if (error instanceof HoldpointError) {
    return { exit: EXITS[error.code] ?? 'refused', message: `${error.message} [${error.code}]`, hint: null };
  }
  if (error instanceof WorkflowNotFoundError) {
    return { exit: 'notFound', message: 'Temporal knows no such turn. Check its id and --subject.', hint: null };
  }
  if (error instanceof NamespaceNotFoundError) {
    const message = `The Temporal server has no namespace ${error.namespace}. Nothing was recorded.`;
    return {
      exit: 'unreachable',
      message,
      hint: 'Correct TEMPORAL_NAMESPACE, or make it as deploy/temporal-setup.sh does.',
    };
  }
  return ofTemporal(error) ?? { exit: 'bug', message: `unexpected: ${messageOf(error)}`, hint: 'Please report it.' };
}

/** A gRPC failure of the server or on the way to it; its status code is a number. */
function ofTemporal(error: unknown): Described | null {
  for (let at = error; isNativeError(at); at = at.cause) {
    const details = rpcDetails(at);
    if (details === null) continue;
    const message = ERRORS.TEMPORAL_UNREACHABLE.message.replace('{detail}', details);
    return { exit: 'unreachable', message: `${message} [TEMPORAL_UNREACHABLE]`, hint: null };
  }
  return null;
}

function rpcDetails(error: Error): string | null {
  const isRpc = 'code' in error && typeof error.code === 'number' && 'details' in error;
  return isRpc ? String(error.details) : null;
}

function messageOf(error: unknown): string {
  return isNativeError(error) ? error.message : String(error);
}

function stackOf(error: unknown): string {
  return isNativeError(error) ? (error.stack ?? error.message) : String(error);
}
