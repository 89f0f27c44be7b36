import { canonicalJson } from '../core/json';
import type { JsonObject } from '../core/json';
import type { Log } from '../ledger/log';
import type { RpcReply, RpcRequest } from './rpc';
import { judgeReply } from './tool-answer';
import type { ToolAnswer } from './tool-answer';
import { readToolPage } from './tool-listing';
import type { ToolDefinition } from './tool-listing';
import { tracedSession } from './traced-session';

export type { ToolAnswer, ToolDefinition };

export type ToolListing =
  | { readonly ok: true; readonly tools: ReadonlyMap<string, ToolDefinition> }
  | { readonly ok: false; readonly detail: string };

export interface ToolCall {
  readonly name: string;
  readonly arguments: JsonObject;
  /** Further params beside name and arguments: what a client answers a server's question with. */
  readonly more?: JsonObject | undefined;
  /** Goes into the call's `_meta`. */
  readonly meta?: JsonObject | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** True for a tool that only reads: then it is asked again where the connection was lost. */
  readonly read?: boolean;
  /** Asked right before the call is sent; true where its time to be sent is over. */
  readonly isLate?: () => boolean;
}

/** A tool server of the policy, as Holdpoint uses it. */
export interface ToolServer {
  /**
   * Every tool of every page. Asked anew, or the answer to a listing that was begun at `sinceMs` or later, by the
   * process's monotonic clock (`performance.now()`).
   */
  listTools(sinceMs?: number): Promise<ToolListing>;
  /** Sends one call, once. */
  callTool(call: ToolCall): Promise<ToolAnswer>;
  close(): Promise<void>;
}

const PAGE_TIMEOUT_MS = 10_000;
/** Of a whole listing: a server may make up pages as fast as it is asked for them. */
const LIST_TIMEOUT_MS = 30_000;
const MAX_PAGES = 1_000;
const MAX_TOOLS = 10_000;

export type ToolServerLog = Pick<Log, 'warn'>;

/** Where the requests of a tool server go. */
export interface RpcSession {
  request(request: RpcRequest): Promise<RpcReply>;
  close(): Promise<void>;
}

export function createToolServer(name: string, session: RpcSession, log: ToolServerLog): ToolServer {
  return new SessionToolServer(name, tracedSession(name, session), log);
}

class SessionToolServer implements ToolServer {
  private readonly name: string;
  private readonly session: RpcSession;
  private readonly log: ToolServerLog;
  private tools: ReadonlyMap<string, ToolDefinition> | undefined;
  private latest: { readonly begunAtMs: number; readonly listing: Promise<ToolListing> } | undefined;

  constructor(name: string, session: RpcSession, log: ToolServerLog) {
    this.name = name;
    this.session = session;
    this.log = log;
  }

  listTools(sinceMs = Infinity): Promise<ToolListing> {
    if (this.latest !== undefined && this.latest.begunAtMs >= sinceMs) return this.latest.listing;
    const begun = { begunAtMs: performance.now(), listing: this.list() };
    this.latest = begun;
    // A failure answers those who wait for it, and nobody who asks later.
    void begun.listing.then(({ ok }) => {
      if (!ok && this.latest === begun) this.latest = undefined;
    });
    return begun.listing;
  }

  private async list(): Promise<ToolListing> {
    const listing = await this.listPages();
    if (listing.ok) this.tools = listing.tools;
    return listing;
  }

  async callTool(call: ToolCall): Promise<ToolAnswer> {
    const { name, arguments: args, more, meta, timeoutMs, signal, read = false, isLate } = call;
    const params = { ...more, name, arguments: args, ...(meta !== undefined && { _meta: meta }) };
    const reply = await this.session.request({
      method: 'tools/call',
      params,
      timeoutMs,
      signal,
      repeatable: read,
      isLate,
    });
    // A tool that was never listed may have an output schema as well.
    const listed = this.tools?.get(name);
    return judgeReply(reply, { hasOutputSchema: listed === undefined || listed.raw['outputSchema'] !== undefined });
  }

  close(): Promise<void> {
    return this.session.close();
  }

  private async listPages(): Promise<ToolListing> {
    const tools = new Map<string, ToolDefinition>();
    const cursors = new Set<string>();
    const endsAtMs = Date.now() + LIST_TIMEOUT_MS;
    let cursor: string | undefined;
    for (;;) {
      const leftMs = endsAtMs - Date.now();
      if (leftMs <= 0) return failed(`its list of tools took longer than ${LIST_TIMEOUT_MS} ms`);
      const page = await this.page(cursor, Math.min(leftMs, PAGE_TIMEOUT_MS));
      if (!page.ok) return page;
      if (page.unusable > 0) this.log.warn({ server: this.name, tools: page.unusable }, 'toolServer.unusableTools');
      const fault = addTools(tools, page.tools);
      if (fault !== undefined) return failed(fault);
      cursor = page.nextCursor;
      if (cursor === undefined) break;
      if (cursors.has(cursor) || cursors.size === MAX_PAGES - 1) return failed('its list of tools never ends');
      cursors.add(cursor);
    }
    return { ok: true, tools };
  }

  private async page(cursor: string | undefined, timeoutMs: number) {
    const params = cursor === undefined ? {} : { cursor };
    const reply = await this.session.request({ method: 'tools/list', params, repeatable: true, timeoutMs });
    if (reply.kind === 'error') return failed(`it answered tools/list with error ${reply.code}: ${reply.message}`);
    if (reply.kind !== 'result') return failed(reply.detail);
    const page = readToolPage(reply.result);
    return page === undefined ? failed('its list of tools has not the form of one') : { ok: true as const, ...page };
  }
}

function failed(detail: string): { readonly ok: false; readonly detail: string } {
  return { ok: false, detail };
}

/** Two definitions under one name leave open which of them was approved, so such a list is refused. */
function addTools(tools: Map<string, ToolDefinition>, page: readonly ToolDefinition[]): string | undefined {
  for (const tool of page) {
    const known = tools.get(tool.name);
    if (known !== undefined && canonicalJson(known.raw) !== canonicalJson(tool.raw)) {
      return `it lists two different tools named ${tool.name}`;
    }
    tools.set(tool.name, tool);
  }
  return tools.size > MAX_TOOLS ? `it lists more than ${MAX_TOOLS} tools` : undefined;
}
