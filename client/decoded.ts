import { memberOf } from '../core/member';
import { holdpointError } from './errors';

/** The value, unless it could not be decoded: then PAYLOAD_UNREADABLE is thrown instead of taking a marker for an answer. */
export function decoded<T>(value: T): T {
  if (memberOf(value, 'undecodable') !== true) return value;
  throw holdpointError('PAYLOAD_UNREADABLE', { detail: String(memberOf(value, 'reason')) });
}
