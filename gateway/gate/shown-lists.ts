import type { ClientSession } from '../ports';

/**
 * Under which policy a session was last shown its tools. Another one may hold what the first let pass, so that the pending
 * form does not fit what the client has listed.
 */
export class ShownLists {
  private readonly versions = new WeakMap<ClientSession, number>();

  note(session: ClientSession, policyVersion: number): void {
    this.versions.set(session, policyVersion);
  }

  /** True once for each session that was shown its tools under another policy: it is to list them anew. */
  takeStale(session: ClientSession, policyVersion: number): boolean {
    const shown = this.versions.get(session);
    if (shown === undefined || shown === policyVersion) return false;
    this.versions.delete(session);
    return true;
  }
}
