import { answerToServer } from '../../activities/rpc';
import type { RpcReply, RpcRequest } from '../../activities/rpc';
import type { ResolveSecret } from '../../activities/secret-references';
import { showText } from '../../core/display';
import { isJsonArray } from '../../core/json';
import type { JsonObject } from '../../core/json';
import type { Log } from '../../ledger/log';
import { OwnRequests } from './own-requests';
import { readServerMessage } from '../wire/server-message';
import type { ServerMessage } from '../wire/server-message';
import { startServerProcess } from './server-process';
import type { ServerProcess, StdioTransport } from './server-process';
import { StartBackoff } from './start-backoff';

/** The first revision that needs no session. */
const STATELESS_REVISION = '2026-07-28';
/** Some servers of earlier revisions answer nothing before `initialize`; their clients wait for this. */
const DISCOVER_MS = 10_000;
const DISCOVER: JsonObject = {
  _meta: {
    'io.modelcontextprotocol/protocolVersion': STATELESS_REVISION,
    'io.modelcontextprotocol/clientInfo': { name: 'holdpoint', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  },
};

const STOPPING = 'the gateway is stopping';

/** Whether the server speaks a revision without sessions: `no`, and it has to be initialised. */
export type Readiness =
  { readonly kind: 'ready' } | { readonly kind: 'no' } | { readonly kind: 'failed'; readonly detail: string };

/** A line that is no answer to the gateway itself. */
export type OtherMessage = ServerMessage & { readonly kind: 'reply' | 'notification' };

export interface StatelessProcessOptions {
  readonly server: string;
  readonly transport: StdioTransport;
  readonly resolveSecret: ResolveSecret;
  readonly log: Pick<Log, 'warn'>;
  readonly take: (message: OtherMessage, line: string) => void;
  /** Called when the process has ended with requests in flight, or without. */
  readonly lost: (how: string) => void;
}

/** The one process that serves all clients without sessions: started when it is needed, again after it has ended. */
export class StatelessProcess {
  private readonly options: StatelessProcessOptions;
  private readonly backoff = new StartBackoff();
  private readonly own: OwnRequests;
  private readying: Promise<Readiness> | undefined;
  private process: ServerProcess | undefined;
  private needsSessions = false;
  private readonly closing = new AbortController();

  constructor(options: StatelessProcessOptions) {
    this.options = options;
    this.own = new OwnRequests(
      (message) => this.write(message),
      () => undefined,
    );
  }

  get isAsked(): boolean {
    return this.own.size > 0;
  }

  ready(): Promise<Readiness> {
    this.readying ??= this.start().then((readiness) => {
      if (readiness.kind !== 'ready') this.readying = undefined;
      return readiness;
    });
    return this.readying;
  }

  write(message: string): boolean {
    return this.process?.write(message) === true;
  }

  request(request: RpcRequest): Promise<RpcReply> {
    return this.own.request(request);
  }

  /** Ends the process; the next request starts another one. */
  async stop(): Promise<void> {
    const { process } = this;
    this.isGone('stopped');
    await process?.close();
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.stop();
  }

  private line(line: string | undefined): void {
    if (line === undefined) {
      this.options.log.warn({ server: this.options.server }, 'gateway.lineTooLong');
      return;
    }
    const message = readServerMessage(line);
    if (message.kind === 'reply' && this.own.owns(message.id)) this.own.take(message.id, message.value);
    // A server of this revision asks its client in its answers, and nothing else.
    else if (message.kind === 'request') this.write(JSON.stringify(answerToServer(message)));
    else if (message.kind !== 'noise') this.options.take(message, line);
  }

  private ended(process: ServerProcess, how: string): void {
    // One that was stopped has ended already, and another may run.
    if (process !== this.process) return;
    const { server, log } = this.options;
    log.warn({ server, how, stderr: showText(process.stderr) }, 'gateway.serverEnded');
    this.isGone(how);
    void process.close();
  }

  private isClosing(): boolean {
    return this.closing.signal.aborted;
  }

  private isGone(how: string): void {
    this.process = undefined;
    this.readying = undefined;
    this.own.lose(`the process of the server ended (${how})`);
    this.options.lost(how);
  }

  private async start(): Promise<Readiness> {
    const { transport, resolveSecret } = this.options;
    if (this.needsSessions) return { kind: 'no' };
    if (this.isClosing()) return { kind: 'failed', detail: STOPPING };
    if (this.backoff.reason !== undefined) return { kind: 'failed', detail: this.backoff.reason };
    const started = await startServerProcess(transport, resolveSecret);
    if (!started.ok) {
      this.backoff.failed(started.detail);
      return { kind: 'failed', detail: started.detail };
    }
    const { process } = started;
    if (this.isClosing()) {
      await process.close();
      return { kind: 'failed', detail: STOPPING };
    }
    this.process = process;
    process.listen({ line: (line) => this.line(line), ended: (how) => this.ended(process, how) });
    const request = { method: 'server/discover', params: DISCOVER, timeoutMs: DISCOVER_MS, repeatable: true };
    const reply = await this.own.request(request);
    if (speaksStateless(reply)) {
      this.backoff.started();
      return { kind: 'ready' };
    }
    // A process that ended may have had another reason, and is asked again at the next connect.
    this.needsSessions = reply.kind !== 'lost' || reply.timedOut;
    await this.stop();
    return { kind: 'no' };
  }
}

function speaksStateless(reply: RpcReply): boolean {
  const versions = reply.kind === 'result' ? reply.result['supportedVersions'] : undefined;
  return versions !== undefined && isJsonArray(versions) && versions.includes(STATELESS_REVISION);
}
