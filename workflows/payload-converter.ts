import { defaultPayloadConverter, type Payload, type PayloadConverter } from '@temporalio/common';

/** What a handler gets instead of a message that cannot be decoded. */
export interface Undecodable {
  readonly undecodable: true;
  readonly reason: string;
}

/**
 * The default converter, but a payload that cannot be decoded becomes a marker instead of an error: an error here would
 * fail the workflow task for ever, and one broken signal would take a turn's decidability away.
 */
class TolerantPayloadConverter implements PayloadConverter {
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the interface's own signature
  toPayload<T>(value: T): Payload {
    return defaultPayloadConverter.toPayload(value);
  }

  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the interface's own signature
  fromPayload<T>(payload: Payload): T {
    try {
      return defaultPayloadConverter.fromPayload(payload);
    } catch (error) {
      const marker: Undecodable = { undecodable: true, reason: String(error).slice(0, 200) };
      return marker as T;
    }
  }
}

export const payloadConverter = new TolerantPayloadConverter();
