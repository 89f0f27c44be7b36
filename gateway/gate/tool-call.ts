import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json';
import type { ClientMessage } from '../ports';

/** A `tools/call` as the gate reads it. */
export interface ToolCallParams {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly ownKey: string | null;
  readonly checkpoint: JsonValue | undefined;
  readonly progressToken: string | number | null;
  /** What the client asked a task for (2025-11-25); null where it asked for none. */
  readonly task: { readonly ttlMs: number | null } | null;
  /** What a client answers a server's question with (`inputResponses`, `requestState`): bound like the arguments. */
  readonly retry: JsonObject | null;
}

export type ReadToolCall =
  { readonly ok: true; readonly call: ToolCallParams } | { readonly ok: false; readonly detail: string };

const OWN_KEY_META = 'dev.holdpoint/operation';
const CHECKPOINT_META = 'dev.holdpoint/checkpoint';
const KEY_LENGTH = 200;

/** Reads the params of a `tools/call`; whatever else a caller claims about approvals is never read. */
export function readToolCall({ params }: ClientMessage): ReadToolCall {
  const { name, arguments: given = {}, _meta: said = {} } = params;
  if (typeof name !== 'string' || name === '') return no('params.name is the name of a tool');
  if (!isJsonObject(given)) return no('params.arguments is an object');
  if (!isJsonObject(said)) return no('params._meta is an object');
  const ownKey = said[OWN_KEY_META] ?? null;
  const isKey = ownKey === null || (typeof ownKey === 'string' && ownKey !== '' && ownKey.length <= KEY_LENGTH);
  if (!isKey) return no(`_meta["${OWN_KEY_META}"] is a text of at most ${KEY_LENGTH} characters`);
  const token = said['progressToken'];
  const progressToken = typeof token === 'string' || typeof token === 'number' ? token : null;
  const checkpoint = said[CHECKPOINT_META];
  return {
    ok: true,
    call: {
      tool: name,
      arguments: given,
      ownKey,
      checkpoint,
      progressToken,
      task: taskOf(params),
      retry: retryOf(params),
    },
  };
}

function taskOf({ task }: JsonObject): ToolCallParams['task'] {
  if (task === undefined || !isJsonObject(task)) return null;
  const { ttl } = task;
  return { ttlMs: typeof ttl === 'number' && ttl > 0 ? ttl : null };
}

function retryOf({ inputResponses, requestState }: JsonObject): JsonObject | null {
  if (inputResponses === undefined && requestState === undefined) return null;
  return {
    ...(inputResponses !== undefined && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
  };
}

function no(detail: string): ReadToolCall {
  return { ok: false, detail };
}
