import { defaultPayloadConverter, type Payload, type PayloadConverter } from '@temporalio/common';
import { cut } from '../core/display';

/** What a handler gets instead of a message that cannot be decoded. */
export interface Undecodable {
  readonly undecodable: true;
  readonly reason: string;
}

/** More than any value that keeps the rules of core's JSON has, with the records around it. */
const DEEPEST = 600;

/**
 * The default converter, but a payload that cannot be decoded becomes a marker instead of an error: an error here would
 * fail the workflow task for ever, and one broken signal would take a turn's decidability away. So does one that is
 * nested so deeply that it could be read but not written again, when it is passed on.
 */
class TolerantPayloadConverter implements PayloadConverter {
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the interface's own signature
  toPayload<T>(value: T): Payload {
    return defaultPayloadConverter.toPayload(value);
  }

  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the interface's own signature
  fromPayload<T>(payload: Payload): T {
    try {
      const value = defaultPayloadConverter.fromPayload<T>(payload);
      return isDeeperThan(DEEPEST, value) ? (marked(`more than ${DEEPEST} containers inside each other`) as T) : value;
    } catch (error) {
      return marked(String(error)) as T;
    }
  }
}

function marked(reason: string): Undecodable {
  return { undecodable: true, reason: cut(reason, 200) };
}

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(levels - 1, member));
}

export const payloadConverter = new TolerantPayloadConverter();
