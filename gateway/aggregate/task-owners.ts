import { parseJson } from '../../activities/rpc';
import { objectOr } from '../wire/server-message';

const MOST_TASKS = 1_000;

/** Which server runs a task, by the answers to the calls that began it. */
export class TaskOwners {
  private readonly servers = new Map<string, string>();

  learn(server: string, answer: string): void {
    const { result } = objectOr(parseJson(answer));
    const { taskId } = objectOr(objectOr(result)['task']);
    // A server that gives out the id of another's task does not get what is meant for that one.
    if (typeof taskId !== 'string' || this.servers.has(taskId)) return;
    this.servers.set(taskId, server);
    const [oldest] = this.servers.keys();
    if (this.servers.size > MOST_TASKS && oldest !== undefined) this.servers.delete(oldest);
  }

  /** The server of a task, where it is known. */
  of(taskId: string): readonly { readonly server: string }[] {
    const server = this.servers.get(taskId);
    return server === undefined ? [] : [{ server }];
  }
}
