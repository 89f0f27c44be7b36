import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { refusal, type Refusal } from '../core/errors';
import { LedgerError, reasonOf } from '../ledger/ledger-error';
import { collectSooner } from '../worker/collect-sooner';
import { createEdge, type Edge } from './edge/admit';
import { hostInUrl } from '../web/host-names';
import { INTERNAL_ERROR, refusalOf, refuse, type Refusal as HttpRefusal } from './wire/refusal';
import { openGatewayParts, type GatewayOptions, type GatewayParts, type OpenedParts } from './gateway-parts';

export type { GatewayOptions } from './gateway-parts';

export interface RunningGateway {
  /** The origin that it listens on. */
  readonly url: string;
  /** Settles when it has ended, also when it failed. */
  readonly ended: Promise<void>;
  /** Takes no new request and waits for the tools that run. Safe to call twice. */
  stop(): Promise<void>;
}

export type StartedGateway =
  { readonly ok: true; readonly gateway: RunningGateway } | ({ readonly ok: false } & Refusal);

const RETRY_MS = 1_000;

/**
 * Starts a gateway. Where the ledger or Temporal cannot be reached it listens and refuses every call, saying which, until
 * both are there; without a policy or a key it does not start.
 */
export async function startGateway(options: GatewayOptions): Promise<StartedGateway> {
  collectSooner();
  const first = await openGatewayParts(options);
  if (!first.ok && (first.code === 'NO_POLICY' || first.code === 'PERMIT_KEY')) return first;
  const gateway = new Gateway(options, first);
  const { port } = options.edge;
  const problem = await gateway.listen().then(() => null, reasonOf);
  if (problem === null) return { ok: true, gateway };
  await gateway.stop();
  return { ok: false, ...refusal('PORT_TAKEN', { port, detail: problem }) };
}

class Gateway implements RunningGateway {
  readonly ended: Promise<void>;
  private readonly options: GatewayOptions;
  private readonly edge: Edge;
  private readonly server: Server;
  private readonly stopping = new AbortController();
  private opened: OpenedParts;
  private stopped: Promise<void> | undefined;
  private end: (failure?: Error) => void = () => undefined;

  constructor(options: GatewayOptions, first: OpenedParts) {
    this.options = options;
    this.opened = first;
    this.edge = createEdge(options.edge, options.log);
    this.server = createServer((req, res) => void this.handle(req, res));
    this.ended = new Promise((resolve, reject) => {
      this.end = (failure) => {
        if (failure === undefined) resolve();
        else reject(failure);
      };
    });
    this.ended.catch(() => undefined);
    if (first.ok) this.watch(first.parts);
    else void this.openLater();
  }

  get url(): string {
    const at = this.server.address();
    const port = typeof at === 'object' && at !== null ? at.port : this.options.edge.port;
    return this.options.edge.publicUrl ?? `http://${hostInUrl(this.options.edge.host)}:${port}`;
  }

  listen(): Promise<void> {
    const { host, port } = this.options.edge;
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(port, host, resolve);
    });
  }

  stop(): Promise<void> {
    this.stopped ??= this.close();
    return this.stopped;
  }

  private async close(): Promise<void> {
    this.stopping.abort();
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    if (this.opened.ok) await this.opened.parts.stop();
    this.server.closeAllConnections();
    await closed;
    this.end();
  }

  private watch({ ended }: GatewayParts): void {
    ended.then(
      () => this.end(),
      (error: unknown) => this.end(error instanceof Error ? error : new Error(reasonOf(error))),
    );
  }

  private async openLater(): Promise<void> {
    const { options, stopping } = this;
    let opened = this.opened;
    while (!opened.ok) {
      options.log.error({ code: opened.code, detail: opened.detail }, 'gateway.notReady');
      await delay(RETRY_MS, undefined, { ref: false });
      if (stopping.signal.aborted) return;
      opened = await openGatewayParts(options).catch(notOpened);
    }
    this.opened = opened;
    if (stopping.signal.aborted) return opened.parts.stop();
    options.log.info({}, 'gateway.ready');
    this.watch(opened.parts);
  }

  private async handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      await this.route(req, res);
    } catch (error) {
      const why = error instanceof LedgerError ? error.message : 'The gateway failed, and its log says why';
      this.options.log.error({ error: String(error) }, 'gateway.failed');
      if (!res.headersSent) refuse(res, unavailable(`NOT executed: ${why}`));
      else res.destroy();
    }
  }

  private async route(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const [path = ''] = (req.url ?? '').split('?', 1);
    if (path === '/healthz') {
      res.writeHead(this.opened.ok ? 200 : 503, { 'content-type': 'application/json', 'cache-control': 'no-store' });
      res.end(JSON.stringify({ healthy: this.opened.ok }));
      return;
    }
    const caller = await this.edge.admit(req, res, path);
    if (caller === null) return;
    if (!this.opened.ok) {
      refuse(res, unavailable(`NOT executed: ${this.opened.detail}`));
      return;
    }
    const { endpoints } = this.opened.parts;
    if (path === '/mcp') return endpoints.all.handle(req, res, caller);
    const found = await endpoints.find(path.slice('/mcp/'.length), caller.requester);
    switch (found.kind) {
      case 'endpoint':
        return found.endpoint.handle(req, res, caller);
      case 'none':
        refuse(res, NO_SERVER);
        return;
      case 'unavailable':
        refuse(res, unavailable(`NOT executed: ${found.refusal.detail}`));
    }
  }
}

function notOpened(error: unknown): OpenedParts {
  return { ok: false, ...refusal('TEMPORAL_UNREACHABLE', { detail: reasonOf(error) }) };
}

const NO_SERVER = refusalOf(404, 'There is no such server for you here; ask an operator for access');

function unavailable(message: string): HttpRefusal {
  return refusalOf(503, message, { code: INTERNAL_ERROR, headers: { 'retry-after': '1' } });
}
