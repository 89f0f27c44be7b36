import { operationId } from '../core/digest';
import { serverOf } from '../core/policy-lookup';
import type { Dependencies } from './dependencies';
import type { RunInput } from './run-tool';

/** A re-check that comes later than this begins anew. */
const AHEAD_MS = 1_000;

/**
 * Begins what the re-check of an allowed call has to ask its server, while Temporal takes note of the decision: it is
 * asked after the decision is on record, and right before the effect.
 */
export class RecheckAhead {
  private readonly deps: Dependencies;
  private readonly allowedAtMs = new Map<string, number>();

  constructor(deps: Dependencies) {
    this.deps = deps;
  }

  async begin(id: string, serverName: string): Promise<void> {
    const nowMs = performance.now();
    for (const [old, atMs] of this.allowedAtMs) if (nowMs - atMs > AHEAD_MS) this.allowedAtMs.delete(old);
    this.allowedAtMs.set(id, nowMs);
    const active = await this.deps.ledger.activePolicy();
    const server = active === null ? undefined : serverOf(active.policy, serverName);
    if (server !== undefined) await this.deps.servers.get(server).listTools(nowMs);
  }

  /** Since when a listing serves the re-check of this call; undefined where it was not allowed here just now. */
  takeSinceMs({ turn, call }: Pick<RunInput, 'turn' | 'call'>): number | undefined {
    const { requester, turnId } = turn;
    const id = operationId({ requesterSubject: requester.subject, turnId, callId: call.id });
    const atMs = this.allowedAtMs.get(id);
    this.allowedAtMs.delete(id);
    return atMs !== undefined && performance.now() - atMs <= AHEAD_MS ? atMs : undefined;
  }
}
