import type { JsonObject } from '../../core/json';
import { idText } from '../wire/raw-json';
import { errorText } from '../wire/refusal';
import { objectOr, tokenOf } from '../wire/server-message';
import type { TraceContext } from '../../tracing/span';
import type { ServerLink } from './server-link';

/** What is known of a request before its text arrives here. */
export interface Watched {
  readonly signal: AbortSignal;
  readonly trace: TraceContext | undefined;
}

/** A request of the client that was not answered yet. */
export interface ClientCall {
  readonly id: string | number;
  readonly text: string;
  readonly method: string;
  readonly params: JsonObject;
  /** The place in a trace that its HTTP request named. */
  readonly trace: TraceContext | undefined;
  /** Aborted when the client has left it. */
  readonly leave: AbortController;
  /** Where it was sent; undefined while that is found out. */
  link: ServerLink | undefined;
  cancelled: boolean;
}

export function progressTokenOf({ params }: ClientCall): string | number | undefined {
  return tokenOf(objectOr(params['_meta'])['progressToken']);
}

/** The text of a result that is a JSON text itself. */
export function resultOf({ text }: ClientCall, result: string): string {
  return `{"jsonrpc":"2.0","id":${idText(text)},"result":${result}}`;
}

export function errorOf({ text }: ClientCall, code: number, message: string): string {
  return errorText(idText(text), code, message);
}
