import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';

const ENCODING = 'binary/holdpoint-aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * What reaches Temporal: payloads through the tolerant converter and, with a key, encrypted with AES-256-GCM.
 * @param key 32 bytes in base64, the same for every worker and client; undefined leaves payloads readable.
 */
export function dataConverterFor(key: string | undefined): DataConverter {
  const payloadConverterPath = require.resolve('../workflows/payload-converter');
  if (key === undefined || key === '') return { payloadConverterPath };
  return { payloadConverterPath, payloadCodecs: [createPayloadCodec(keyBytes(key))] };
}

function keyBytes(key: string): Buffer {
  const bytes = Buffer.from(key, 'base64');
  if (bytes.length !== 32)
    throw new RangeError(`HOLDPOINT_PAYLOAD_KEY holds ${bytes.length} bytes of base64; it must hold 32`);
  return bytes;
}

/**
 * A payload that cannot be decrypted is passed on as it is: the tolerant converter turns it into a marker, where an
 * error here would fail the turn's task for ever.
 */
function createPayloadCodec(key: Buffer): PayloadCodec {
  return {
    encode: (payloads) => Promise.resolve(payloads.map((payload) => encrypt(payload, key))),
    decode: (payloads) => Promise.resolve(payloads.map((payload) => decrypt(payload, key))),
  };
}

function encrypt(payload: Payload, key: Buffer): Payload {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  const plain = temporal.api.common.v1.Payload.encode(payload).finish();
  const data = Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return { metadata: { encoding: Buffer.from(ENCODING) }, data };
}

function decrypt(payload: Payload, key: Buffer): Payload {
  const encoding = payload.metadata?.['encoding'];
  if (encoding === undefined || Buffer.from(encoding).toString() !== ENCODING) return payload;
  try {
    const data = Buffer.from(payload.data ?? []);
    const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, IV_BYTES));
    decipher.setAuthTag(data.subarray(-TAG_BYTES));
    const plain = Buffer.concat([decipher.update(data.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
    return temporal.api.common.v1.Payload.decode(plain);
  } catch {
    return payload;
  }
}
