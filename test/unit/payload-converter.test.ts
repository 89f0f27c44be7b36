import { defaultPayloadConverter } from '@temporalio/common';
import { payloadConverter } from '../../workflows/payload-converter';

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
const read = (value: unknown): unknown => payloadConverter.fromPayload(defaultPayloadConverter.toPayload(value));

test('a value of 600 levels is read as it is, a deeper one is a marker that can be passed on [ENG-01]', () => {
  expect(read(nested(600))).toEqual(nested(600));
  expect(read(nested(601))).toEqual({ undecodable: true, reason: 'more than 600 containers inside each other' });
});
