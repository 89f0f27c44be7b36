import type { JsonValue } from '../../core/json';
import { isJsonArray } from '../../core/json';
import type { ClientMessage } from '../ports';

/**
 * What a server has asked its client and the client has not answered yet. Only answers to these go to the server, once:
 * a client that guesses the ids of questions that were answered for it cannot slip an answer in.
 */
export class Questions {
  /** The `roots` that the client named last; null where it named none. */
  roots: JsonValue = null;
  private readonly open = new Map<string | number, string>();
  private readonly max: number;

  constructor(max: number) {
    this.max = max;
  }

  /** False where so many are open that this one has to be refused. */
  ask(id: string | number, method: string): boolean {
    if (this.open.size >= this.max) return false;
    this.open.set(id, method);
    return true;
  }

  /** The server takes a question back; false where the client never saw it. */
  withdraw(id: string | number): boolean {
    return this.open.delete(id);
  }

  /** True where the client's message answers an open question, and so may go to the server. */
  answer({ id, params }: ClientMessage): boolean {
    if (id === null) return false;
    const method = this.open.get(id);
    const roots = params['roots'];
    if (method === 'roots/list' && roots !== undefined && isJsonArray(roots)) this.roots = roots;
    return this.open.delete(id);
  }
}
