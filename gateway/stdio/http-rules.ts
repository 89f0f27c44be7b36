import type { IncomingMessage } from 'node:http';
import { INVALID_REQUEST, SERVER_ERROR } from '../wire/refusal';
import type { Refusal } from '../wire/refusal';

/** The revisions of MCP that begin with `initialize`, oldest first. */
export const SESSION_REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;

/** What the rules of MCP's HTTP transport say of what a POST accepts; undefined where they are kept. */
export function postFault(req: IncomingMessage): Refusal | undefined {
  if (!accepts(req, 'application/json') || !accepts(req, 'text/event-stream')) {
    return notAcceptable('A POST accepts both application/json and text/event-stream');
  }
  return undefined;
}

/** The same of a GET. */
export function getFault(req: IncomingMessage): Refusal | undefined {
  return accepts(req, 'text/event-stream') ? undefined : notAcceptable('A GET accepts text/event-stream');
}

/** A version header, where there is one, names a revision that is spoken here, or the one that was agreed on. */
export function versionFault(req: IncomingMessage, agreed: string | null): Refusal | undefined {
  const version = req.headers['mcp-protocol-version'];
  if (version === undefined || version === agreed || SESSION_REVISIONS.some((known) => known === version)) {
    return undefined;
  }
  const message = `MCP-Protocol-Version names no revision that is spoken here (${SESSION_REVISIONS.join(', ')})`;
  return { status: 400, code: SERVER_ERROR, message };
}

/** The session that a request names; undefined where it names none. */
export function sessionIdOf(req: IncomingMessage): string | undefined {
  const id = req.headers['mcp-session-id'];
  return Array.isArray(id) ? id.join() : id;
}

export function sessionMissing(): Refusal {
  return { status: 400, code: INVALID_REQUEST, message: 'Mcp-Session-Id is missing: initialise first, then send it' };
}

export function methodNotAllowed(): Refusal {
  const message = 'This address takes POST, GET and DELETE';
  return { status: 405, code: SERVER_ERROR, message, headers: { Allow: 'POST, GET, DELETE' } };
}

function notAcceptable(message: string): Refusal {
  return { status: 406, code: SERVER_ERROR, message };
}

function accepts(req: IncomingMessage, type: string): boolean {
  const ranges = (req.headers.accept ?? '').split(',').map((range) => range.split(';')[0]?.trim().toLowerCase());
  return [type, `${type.split('/')[0] ?? ''}/*`, '*/*'].some((range) => ranges.includes(range));
}
