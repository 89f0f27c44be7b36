import type { BridgeLine } from '../stdio/bridge-line';
import { tokenOf } from '../wire/server-message';
import type { JsonValue } from '../../core/json';
import { progressTokenOf } from './client-call';
import type { ClientCall, Watched } from './client-call';

type Request = BridgeLine & { readonly id: string | number; readonly method: string };

/** The requests of the client that were not answered yet. */
export class ClientCalls {
  private readonly calls = new Map<string | number, ClientCall>();
  private readonly watched = new Map<string | number, Watched>();

  /** Lets a request that is about to come be left when the signal aborts. */
  watch(id: string | number, watched: Watched): void {
    this.watched.set(id, watched);
    watched.signal.addEventListener('abort', () => this.watched.delete(id), { once: true });
  }

  add({ id, text, method, params }: Request): ClientCall {
    const { signal, trace } = this.watched.get(id) ?? {};
    this.watched.delete(id);
    const call: ClientCall = {
      id,
      text,
      method,
      params,
      trace,
      leave: new AbortController(),
      link: undefined,
      cancelled: false,
    };
    this.calls.set(id, call);
    // Also where it is cancelled: the notice has to wait until the request has arrived, and the end of its connection
    // is known at once where it is still judged.
    signal?.addEventListener('abort', () => call.leave.abort(), { once: true });
    return call;
  }

  remove(call: ClientCall): void {
    if (this.calls.get(call.id) === call) this.calls.delete(call.id);
  }

  /** The client does not want the answer of a call any more; undefined where there is no such call. */
  cancel(requestId: JsonValue | undefined): ClientCall | undefined {
    const id = tokenOf(requestId);
    const call = id === undefined ? undefined : this.calls.get(id);
    if (call !== undefined) call.cancelled = true;
    return call;
  }

  /** Whether progress under this token may come from this server: another one could pass its own off for it. */
  mayReport(server: string, progressToken: JsonValue | undefined): boolean {
    const owners = [...this.calls.values()].filter((call) => progressTokenOf(call) === progressToken);
    return owners.length === 0 || owners.some(({ link }) => link?.server === server);
  }

  leaveAll(): void {
    for (const { leave } of this.calls.values()) leave.abort();
  }
}
