import { jsonOf } from '../../core/json-record';
import type { Requester } from '../../core/requester';
import type { Tx } from '../transaction';

/** A call that a gateway refused before there was an operation of it. */
export interface RefusedCall {
  readonly requester: Requester;
  readonly server: string;
  /** As the caller named it, fit to be stored. */
  readonly tool: string;
  /** Of `docs/errors.md`. */
  readonly code: string;
}

/** Puts on record who tried what. */
export function noteRefusal(tx: Tx, { requester, ...call }: RefusedCall): Promise<void> {
  tx.fact({ kind: 'gateway.refused', operationId: null, body: { requester: jsonOf(requester), ...call } });
  return Promise.resolve();
}
