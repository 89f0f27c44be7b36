import { headlineOf, line, linesOf } from './notice-lines';
import { name, us, type Piece } from './piece';
import type { Told } from './told';

/** A label and what goes with it; both are one line. */
export interface Line {
  readonly label: readonly Piece[];
  readonly text: readonly Piece[];
}

/** What one channel says of one event, before it is formatted. It names nobody who decides. */
export interface Notice {
  readonly kind: Told['kind'];
  readonly operationId: string;
  /** Null: nobody was asked about this operation. */
  readonly revision: number | null;
  readonly subject: string;
  readonly headline: string;
  /** Server and tool. */
  readonly what: readonly Piece[];
  readonly who: readonly Piece[];
  readonly lines: readonly Line[];
  /** A page to look at; it decides nothing. Null where no console is known. */
  readonly link: { readonly url: string; readonly text: string } | null;
}

/** How much of material facts a channel takes, in characters. */
export interface Limits {
  readonly value: number;
  readonly total: number;
  readonly fields: number;
}

export interface Telling {
  readonly nowMs: number;
  readonly consoleUrl: string | null;
  readonly limits: Limits;
}

/** Said in every notice: people should know what their mail scanner cannot do. */
export const FOOTER =
  'Nothing is decided by this message or by opening a link: decisions are made on the page, signed in.';

export function noticeOf(told: Told, telling: Telling): Notice {
  const { kind, call, request } = told;
  const { subject, agent, chain } = call.requester;
  const what = [name(call.server), us(' / '), name(call.tool)];
  const who = [name(subject), us(' through agent '), name(agent), ...chainPieces(chain)];
  return {
    ...{ kind, operationId: call.operationId, revision: request?.revision ?? null, subject },
    ...{ headline: headlineOf(told), what, who },
    lines: [line('wants', ...what), line('asked by', ...who), ...linesOf(told, telling), ...idLines(told, telling)],
    link: linkOf(told, telling),
  };
}

const MOST_LINKS = 5;

function chainPieces(chain: readonly string[]): readonly Piece[] {
  if (chain.length === 0) return [];
  const shown = chain.slice(0, MOST_LINKS).flatMap((link, index) => [us(index === 0 ? '' : ' > '), name(link)]);
  const more = chain.length - MOST_LINKS;
  return [us(', by way of '), ...shown, us(more > 0 ? ` > and ${more} more` : '')].filter(({ text }) => text !== '');
}

function idLines({ kind, call, request }: Told, { consoleUrl }: Telling): readonly Line[] {
  const operation = line('operation', us(call.operationId));
  if (isOfOperation(kind) || request === null) return [operation];
  const ids = [line('request', us(`${request.shortId}, revision ${request.revision}`)), operation];
  return consoleUrl === null ? [...ids, line('see', us(`holdpoint show ${request.shortId}`))] : ids;
}

function linkOf(told: Told, { consoleUrl }: Telling): Notice['link'] {
  const { kind, call, request } = told;
  if (consoleUrl === null) return null;
  if (told.kind === 'emergency' || told.kind === 'reviewDue')
    return { url: `${consoleUrl}/retrospectives#${told.emergency.grantId}`, text: 'Open the review' };
  const id = encodeURIComponent(call.operationId);
  if (isOfOperation(kind) || request === null) {
    return { url: `${consoleUrl}/operations/${id}`, text: 'Open the operation' };
  }
  return { url: `${consoleUrl}/requests/${id}?revision=${request.revision}`, text: 'Open the request' };
}

/** An unknown outcome is settled where the operation is. */
function isOfOperation(kind: Told['kind']): boolean {
  return kind === 'unknown' || kind === 'found';
}
