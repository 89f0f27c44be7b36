import { refusal } from '../../core/errors';
import { refusedResult } from '../answers/unopened-answer';
import { SERVER_ERROR } from '../wire/refusal';
import { errorOf, resultOf } from './client-call';
import type { ClientCall } from './client-call';
import type { Candidates } from './owners';
import type { LinkAnswer, NoAnswer } from './server-link';
import type { ServerLinks } from './server-links';

/** The text of the answer to a call; undefined where the client waits for none any more. */
export type AnswerText = Promise<string | undefined>;

const CLOSED = { kind: 'closed', code: SERVER_ERROR, message: 'This server is not open to you any more' } as const;

/** Sends the client's requests on: to the one server whose they are, or to several. */
export class AskServers {
  private readonly links: ServerLinks;

  constructor(links: ServerLinks) {
    this.links = links;
  }

  /** Asks one server, and gives its answer as it wrote it. */
  async one(call: ClientCall, server: string, text: string): AnswerText {
    return this.textOf(call, server, await this.send(call, server, text));
  }

  /**
   * Asks one server after the other until one has a result. Where none has: the error of the first, if it is one of the
   * `likely`; else what `unknown` says.
   */
  async inTurn(
    call: ClientCall,
    { servers, likely }: Candidates,
    unknown: (notAsked: readonly string[]) => string,
  ): Promise<{ readonly server: string | null; readonly text: string | undefined }> {
    const notAsked: string[] = [];
    let first: string | undefined;
    for (const [index, server] of servers.entries()) {
      const answer = await this.send(call, server, call.text);
      if (call.cancelled) return { server: null, text: undefined };
      if (answer.kind === 'answer' && answer.value['result'] !== undefined) return { server, text: answer.text };
      if (answer.kind !== 'answer') notAsked.push(server);
      if (index < likely) first ??= this.textOf(call, server, answer);
    }
    return { server: null, text: first ?? unknown(notAsked) };
  }

  /** Asks all servers that have declared something, at once; one that does as asked is enough. */
  async all(call: ClientCall, capability: string, none: string): AnswerText {
    const answers = await Promise.all(
      this.links
        .having(capability)
        .map(async ({ server }) => ({ server, answer: await this.send(call, server, call.text) })),
    );
    const done = answers.some(({ answer }) => answer.kind === 'answer' && answer.value['result'] !== undefined);
    const [first] = answers;
    if (done) return resultOf(call, '{}');
    return first === undefined ? none : this.textOf(call, first.server, first.answer);
  }

  private async send(call: ClientCall, server: string, text: string): Promise<LinkAnswer> {
    const link = this.links.get(server);
    if (link === undefined || call.cancelled) return CLOSED;
    call.link = link;
    const answer = await link.ask({ id: call.id, text, signal: call.leave.signal, trace: call.trace });
    if (answer.kind === 'closed') this.links.drop(server);
    return answer;
  }

  private textOf(call: ClientCall, server: string, answer: LinkAnswer): string | undefined {
    if (answer.kind === 'answer') return answer.text;
    if (call.cancelled || call.leave.signal.aborted) return undefined;
    if (answer.kind === 'failed') return errorOf(call, answer.code, answer.message);
    const { code, detail } = whyNot(server, answer);
    // As a result the model reads it.
    if (call.method === 'tools/call') return resultOf(call, JSON.stringify(refusedResult({ code, detail })));
    return errorOf(call, SERVER_ERROR, detail);
  }
}

/** Nothing was sent, and why. */
function whyNot(server: string, { kind, message }: NoAnswer) {
  if (kind === 'closed') return { code: 'ACCESS_DENIED', detail: message } as const;
  return refusal('SERVER_UNREACHABLE', { server, detail: "it began no session, and the gateway's log says why" });
}
