/** A call that came through a gateway is a turn of one; this is the id of that call. */
export const GATEWAY_CALL_ID = 'call';

/** How long the result of a gateway's call waits for the identical call of its requester, where it reached nobody. */
export const UNDELIVERED_MS = 15 * 60_000;

/** How long a result that was written to the client's connection is given again: MCP has no acknowledgement. */
export const REPLAY_MS = 2 * 60_000;

const NAME_LENGTH = 60;
const KEY_LENGTH = 16;

/** The turn id of one operation of a gateway's call: readable, and another one for each operation of the same call. */
export function gatewayTurnId(
  { callKey, server, tool }: { readonly callKey: string; readonly server: string; readonly tool: string },
  nowMs: number,
): string {
  const [from, name] = [server, tool].map((text) => text.slice(0, NAME_LENGTH));
  return `mcp/${from ?? ''}/${name ?? ''}/${callKey.slice(0, KEY_LENGTH)}-${nowMs.toString(36)}`;
}
