import { keepAliveAgent } from '../activities/http-connection';
import type { Dependencies } from '../activities/dependencies';
import { resolveRecord } from '../activities/secret-references';
import { refusal, type Refusal } from '../core/errors';
import type { Policy, ServerEntry } from '../core/policy';
import { isOpenTo } from '../core/policy-access';
import { serverOf } from '../core/policy-lookup';
import type { Requester } from '../core/requester';
import { createAggregateEndpoint } from './aggregate/aggregate-endpoint';
import { LedgerError } from '../ledger/ledger-error';
import type { Active } from '../ledger/ledger';
import type { EdgeSettings } from './edge/settings';
import { createHttpEndpoint, type Endpoint } from './http/http-endpoint';
import type { Gate } from './ports';
import { createStdioEndpoint } from './stdio/stdio-endpoint';

export interface EndpointsOptions {
  readonly deps: Dependencies;
  readonly gate: Gate;
  readonly edge: EdgeSettings;
  readonly sessionKey: Uint8Array;
}

export type FoundEndpoint =
  | { readonly kind: 'endpoint'; readonly endpoint: Endpoint }
  /** No such server, or none for this requester: which of the two is nobody's to learn. */
  | { readonly kind: 'none' }
  | { readonly kind: 'unavailable'; readonly refusal: Refusal };

interface Open {
  readonly identity: string;
  readonly endpoint: Endpoint;
}

/** The endpoints of the active policy's servers, each opened when it is first asked for. */
export class Endpoints {
  private readonly options: EndpointsOptions;
  private readonly open = new Map<string, Open>();
  /** The endpoint of all servers as one, `/mcp`. */
  readonly all: Endpoint;

  constructor(options: EndpointsOptions) {
    this.options = options;
    this.all = createAggregateEndpoint({
      accessible: (requester) => this.accessible(requester),
      find: (name, requester) => this.find(name, requester),
      edge: options.edge,
      log: options.deps.log,
    });
  }

  /** The endpoint of a server as the active policy has it. Throws a LedgerError where that cannot be read. */
  async find(name: string, requester: Requester): Promise<FoundEndpoint> {
    const entry = await this.byPolicy(({ policy }) => {
      const found = serverOf(policy, name);
      return found !== undefined && isOpen(policy, found, requester) ? found : undefined;
    });
    if (entry === null) return { kind: 'unavailable', refusal: refusal('NO_POLICY') };
    if (entry === undefined) return { kind: 'none' };
    const known = this.open.get(name);
    const identity = `${entry.identity} ${entry.session}`;
    if (known?.identity === identity) return { kind: 'endpoint', endpoint: known.endpoint };
    const created = this.create(entry);
    if ('code' in created) return { kind: 'unavailable', refusal: created };
    this.open.set(name, { identity, endpoint: created });
    void known?.endpoint.close();
    return { kind: 'endpoint', endpoint: created };
  }

  async closeAll(): Promise<void> {
    // It is a client of the others.
    await this.all.close();
    await Promise.all([...this.open.values()].map(({ endpoint }) => endpoint.close()));
    this.open.clear();
  }

  /** The names of the servers that a requester may use, in the order in which the policy is kept. */
  private async accessible(requester: Requester): Promise<readonly string[]> {
    const names = await this.byPolicy(({ policy }) =>
      Object.values(policy.servers).flatMap((entry) => (isOpen(policy, entry, requester) ? [entry.name] : [])),
    );
    return names ?? [];
  }

  /** What the active policy says; null without one. One that is no policy any more is damage to the ledger. */
  private async byPolicy<T>(read: (active: Active) => T): Promise<T | null> {
    const { ledger } = this.options.deps;
    try {
      const active = await ledger.activePolicy();
      return active === null ? null : read(active);
    } catch (error) {
      if (error instanceof LedgerError) throw error;
      const detail = 'its active policy cannot be read; apply one anew';
      throw new LedgerError('LEDGER_DAMAGED', { ledger: ledger.store.name, detail }, error);
    }
  }

  private create({ name, transport, session }: ServerEntry): Endpoint | Refusal {
    const { gate, edge, sessionKey, deps } = this.options;
    const { sessionIdleMs, sessionsPerRequester } = edge;
    const { resolveSecret, log } = deps;
    if (transport.kind === 'stdio') {
      const limits = { idleMs: sessionIdleMs, sessionsPerRequester };
      return createStdioEndpoint({ name, transport, resolveSecret, gate, log, limits });
    }
    const headers = resolveRecord(transport.headers, resolveSecret);
    if (!headers.ok) {
      log.error({ server: name, missing: headers.missing }, 'gateway.secretNotSet');
      return refusal('SERVER_UNREACHABLE', {
        server: name,
        detail: "a secret of its is not set, and the gateway's log says which",
      });
    }
    const url = new URL(transport.url);
    const upstream = { server: name, url, headers: headers.value, agent: keepAliveAgent(url) };
    const runsOnSession = session === 'client';
    return createHttpEndpoint({ upstream, gate, sessionKey, sessionIdleMs, sessionsPerRequester, runsOnSession });
  }
}

function isOpen(policy: Policy, { name, enabled }: ServerEntry, requester: Requester): boolean {
  return enabled && policy.access.some((access) => access.server === name && isOpenTo(policy, access, requester));
}
