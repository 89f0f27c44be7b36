import { atPointer, type JsonObject, type JsonValue } from '../core/json';
import type { ArgumentSource, ServerEntry, ToolRead } from '../core/policy';
import { unreachable } from '../core/unreachable';
import type { ToolServers } from './tool-servers';

/** A read beside a call: the version, the preview, the state of what it would touch. */
const READ_TIMEOUT_MS = 10_000;

export interface ReadContext {
  readonly servers: ToolServers;
  readonly server: ServerEntry;
  readonly operationId: string;
  readonly arguments: JsonObject;
}

export type ToolReading =
  { readonly ok: true; readonly value: JsonValue } | { readonly ok: false; readonly detail: string };

/** Calls a reading tool and answers its whole result; an error result is no reading. */
export async function readTool(read: ToolRead, context: ReadContext): Promise<ToolReading> {
  const args = argumentsOf(read, context);
  if (args === null) return { ok: false, detail: `an argument of ${read.tool} is not in the call` };
  const server = context.servers.get(context.server);
  const answer = await server.callTool({ name: read.tool, arguments: args, timeoutMs: READ_TIMEOUT_MS, read: true });
  if (answer.kind !== 'result') return { ok: false, detail: `${read.tool}: ${answer.detail}` };
  if (answer.result['isError'] === true) return { ok: false, detail: `${read.tool} answered with an error` };
  return { ok: true, value: answer.result };
}

function argumentsOf(read: ToolRead, context: ReadContext): JsonObject | null {
  if (read.arguments === null) return context.arguments;
  const filled: Record<string, JsonValue> = {};
  for (const [name, source] of Object.entries(read.arguments)) {
    const value = valueOf(source, context);
    if (value === undefined) return null;
    filled[name] = value;
  }
  return filled;
}

function valueOf(source: ArgumentSource, context: ReadContext): JsonValue | undefined {
  switch (source.kind) {
    case 'operationId':
      return context.operationId;
    case 'literal':
      return source.value;
    case 'pointer': {
      const found = atPointer(context.arguments, source.at);
      return found.found ? found.value : undefined;
    }
    default:
      return unreachable(source);
  }
}
