import { showText } from '../core/display';
import { isJsonArray, isJsonObject } from '../core/json';
import type { JsonObject } from '../core/json';
import { TURN_LIMITS } from '../core/turn';
import { unreachable } from '../core/unreachable';
import { RPC_ERROR } from './rpc';
import type { RpcReply } from './rpc';
import { jsonBytes } from './tool-listing';

/** What became of one tool call, as far as this side can know. */
export type ToolAnswer =
  /** The tool's whole result, also where it has `isError`; `bytes` of canonical JSON. */
  | { readonly kind: 'result'; readonly result: JsonObject; readonly bytes: number }
  /** Proof that nothing was done. */
  | { readonly kind: 'notSent'; readonly detail: string }
  /** Anything may have happened. */
  | { readonly kind: 'ambiguous'; readonly detail: string };

const SHOWN_CHARS = 500;

/**
 * Judges how a call ended. Errors of JSON-RPC prove that nothing was done where a server gives them before it reaches
 * the tool. `invalidParams` is such a one only for tools without an output schema: many servers report with the same
 * code that the output of a tool which has run does not fit its schema.
 */
export function judgeReply(reply: RpcReply, { hasOutputSchema }: { readonly hasOutputSchema: boolean }): ToolAnswer {
  switch (reply.kind) {
    case 'result':
      return judgeResult(reply.result);
    case 'notDispatched':
    case 'sessionGone':
      return { kind: 'notSent', detail: shown(reply.detail) };
    case 'lost':
      return { kind: 'ambiguous', detail: shown(reply.detail) };
    case 'error':
      return {
        kind: provesNothingDone(reply.code, hasOutputSchema) ? 'notSent' : 'ambiguous',
        detail: shown(`the server answered with error ${reply.code}: ${reply.message}`),
      };
    default:
      return unreachable(reply);
  }
}

function provesNothingDone(code: number, hasOutputSchema: boolean): boolean {
  if (code === RPC_ERROR.invalidParams) return !hasOutputSchema;
  return code === RPC_ERROR.parse || code === RPC_ERROR.invalidRequest || code === RPC_ERROR.methodNotFound;
}

function judgeResult(result: JsonObject): ToolAnswer {
  if (!isToolResult(result)) return { kind: 'ambiguous', detail: 'the answer has not the form of a tool result' };
  const bytes = jsonBytes(result);
  if (bytes === undefined) return { kind: 'ambiguous', detail: 'the answer holds what no JSON text can keep exactly' };
  if (bytes > TURN_LIMITS.resultBytes) {
    return { kind: 'ambiguous', detail: `the answer is longer than ${TURN_LIMITS.resultBytes} bytes` };
  }
  return { kind: 'result', result, bytes };
}

function isToolResult({ content, structuredContent, isError, resultType }: JsonObject): boolean {
  // A question to the client (2026-07-28): how the tool answered this operation; a retry with answers is another one.
  if (resultType === 'input_required') return true;
  if (isError !== undefined && typeof isError !== 'boolean') return false;
  if (structuredContent !== undefined && !isJsonObject(structuredContent)) return false;
  if (content === undefined) return structuredContent !== undefined;
  return isJsonArray(content) && content.every((block) => isJsonObject(block) && typeof block['type'] === 'string');
}

/** A server's own words, safe to print and not endless. */
function shown(text: string): string {
  return showText(text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text);
}
