import type { ClientMessage } from '../ports';
import type { EventResponse } from '../wire/event-response';
import { objectOr, tokenOf } from '../wire/server-message';

/** A request of a client that was not answered yet. */
export interface ClientCall {
  readonly id: string | number;
  readonly message: ClientMessage;
  readonly response: EventResponse;
  readonly cancel: AbortController;
  /** False while the gate judges it: the server has not seen it then. */
  sent: boolean;
}

/** The requests of one client in flight, by their ids: `1` and `"1"` are two. Newest last. */
export class CallsInFlight {
  private readonly calls = new Map<string | number, ClientCall>();

  get size(): number {
    return this.calls.size;
  }

  get anySent(): boolean {
    return this.all().some(({ sent }) => sent);
  }

  all(): readonly ClientCall[] {
    return [...this.calls.values()];
  }

  has(id: string | number): boolean {
    return this.calls.has(id);
  }

  add(call: ClientCall): void {
    this.calls.set(call.id, call);
  }

  get(id: string | number): ClientCall | undefined {
    return this.calls.get(id);
  }

  remove(call: ClientCall): void {
    if (this.calls.get(call.id) === call) this.calls.delete(call.id);
  }

  /** The call that an answer is for; some servers send a number back as text, and clients take that. */
  answeredBy(id: string | number): ClientCall | undefined {
    const call = this.sentAt(id);
    if (call !== undefined || typeof id === 'number') return call;
    const number = Number(id);
    return String(number) === id ? this.sentAt(number) : undefined;
  }

  /** The call that asked for progress under this token. */
  withProgressToken(token: string | number): ClientCall | undefined {
    return this.all().findLast(({ message }) => tokenOf(objectOr(message.params['_meta'])['progressToken']) === token);
  }

  /** The newest one that can still be written to. */
  newestOpen(): ClientCall | undefined {
    return this.all().findLast(({ response }) => response.isOpen);
  }

  private sentAt(id: string | number): ClientCall | undefined {
    const call = this.calls.get(id);
    return call?.sent === true ? call : undefined;
  }
}
