import { hmac } from '@noble/hashes/hmac';
import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex } from '@noble/hashes/utils';
import { canonicalJson } from './json-canonical';
import { isWellFormed } from './json-value';
import type { JsonValue } from './json-value';
import type { Requester } from './requester';

/** Without 0, O, 1, I, L and U, so that an id can be read out and typed in. */
const SHORT_ID_ALPHABET = '23456789ABCDEFGHJKMNPQRSTVWXYZ';
const SHORT_ID_LENGTH = 8;
const MIN_KEY_BYTES = 16;

/**
 * Everything that an approval covers; a change of any part is another digest.
 * `server.identity` and `toolDigest` say which server and which definition of the tool; `bound` holds the arguments
 * that the rule binds (`bind`); `resourceVersion` is null where the policy reads none.
 */
export interface Binding {
  readonly v: 1;
  readonly requester: Requester;
  readonly server: { readonly name: string; readonly identity: string };
  readonly tool: string;
  readonly toolDigest: string;
  readonly bind: 'material' | 'arguments' | 'tool';
  readonly bound: JsonValue;
  readonly resourceVersion: JsonValue | null;
}

/** The three names that identify a call for ever. */
export interface CallName {
  readonly requesterSubject: string;
  readonly turnId: string;
  readonly callId: string;
}

/** SHA-256 of the UTF-8 bytes of a text, 64 hex characters. Half a surrogate pair has no bytes: TypeError. */
export function sha256Hex(text: string): string {
  return bytesToHex(sha256(utf8(text)));
}

/** `sha256:` and the hash of the canonical JSON of a value: equal values have one digest, in any order and spelling. */
export function digestOf(value: JsonValue): string {
  return `sha256:${sha256Hex(canonicalJson(value))}`;
}

/**
 * What stands for a secret value in the ledger, on pages and in logs: `secret:` and 128 bits of HMAC-SHA-256 in hex.
 * Equal values have one token, and without the key (16 bytes at least) nobody can test a guess.
 */
export function keyedToken(key: Uint8Array, value: JsonValue): string {
  if (key.length < MIN_KEY_BYTES) {
    throw new RangeError(`A key for secrets has ${MIN_KEY_BYTES} bytes or more, not ${key.length}`);
  }
  const mac = hmac(sha256, key, utf8(canonicalJson(['holdpoint/secret/1', value])));
  return `secret:${bytesToHex(mac).slice(0, 32)}`;
}

/**
 * The id of a call's one execution: `op_` and 160 bits in hex. It never changes over retry, reset or a new review, and
 * another requester's call can never have it. Throws a TypeError for names with half a surrogate pair.
 */
export function operationId({ requesterSubject, turnId, callId }: CallName): string {
  return `op_${sha256Hex(canonicalJson(['holdpoint/operation/1', requesterSubject, turnId, callId])).slice(0, 40)}`;
}

/**
 * 8 characters for chat and CLI, in upper case. About 39 bits: the ledger still has to keep them unique among open
 * requests, and it never stands for the digest.
 */
export function shortId(operation: string, revision: number): string {
  const hash = sha256Hex(canonicalJson(['holdpoint/short-id/1', operation, revision]));
  const base = BigInt(SHORT_ID_ALPHABET.length);
  let rest = BigInt(`0x${hash}`);
  let id = '';
  while (id.length < SHORT_ID_LENGTH) {
    id += SHORT_ID_ALPHABET.charAt(Number(rest % base));
    rest /= base;
  }
  return id;
}

/** The digest that a decision names. It covers the parts of `Binding` and nothing else that the object may carry. */
export function bindingDigest(binding: Binding): string {
  const { subject, agent, chain } = binding.requester;
  const { name, identity } = binding.server;
  return digestOf([
    'holdpoint/binding/1',
    {
      v: binding.v,
      requester: { subject, agent, chain },
      server: { name, identity },
      tool: binding.tool,
      toolDigest: binding.toolDigest,
      bind: binding.bind,
      bound: binding.bound,
      resourceVersion: binding.resourceVersion,
    },
  ]);
}

/** Digest of a tool's whole definition as its server lists it: one more sentence in the description is another one. */
export function toolDefinitionDigest(tool: JsonValue): string {
  return digestOf(['holdpoint/tool-definition/1', tool]);
}

function utf8(text: string): Uint8Array {
  if (!isWellFormed(text)) throw new TypeError('A text with a lone surrogate cannot be digested');
  return new TextEncoder().encode(text);
}
