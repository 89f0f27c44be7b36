import { hash } from 'node:crypto';

/** Digest of a long text: a policy, a card, terms, a message, a result. */
export function textDigest(text: string): string {
  return `sha256:${hash('sha256', text, 'hex')}`;
}
