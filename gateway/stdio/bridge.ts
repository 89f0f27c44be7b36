import type { IncomingMessage } from 'node:http';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { leave } from '../../activities/http-exchange';
import type { HttpExchange } from '../../activities/http-exchange';
import { LineReader } from '../../activities/line-reader';
import type { JsonObject } from '../../core/json';
import type { Log } from '../../ledger/log';
import { MAX_MESSAGE_BYTES } from '../wire/read-message';
import { noAnswer, noResponse, refused } from './bridge-failure';
import type { BridgeFailure } from './bridge-failure';
import { answerOf, readBridgeLine } from './bridge-line';
import type { BridgeLine } from './bridge-line';
import { BridgeLink } from './bridge-link';
import { InOrder } from './in-order';
import { idText, onOneLine } from '../wire/raw-json';
import { INVALID_REQUEST, errorText } from '../wire/refusal';
import { objectOr, tokenOf } from '../wire/server-message';

const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
const TOOLS_CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
/** A client that has closed the input waits for its answers, but not for ever. */
const LONGEST_END_MS = 300_000;

export interface StdioBridgeOptions {
  /** The address of a server at the gateway. */
  readonly url: URL;
  readonly token: string;
  readonly input: Readable;
  readonly output: Writable;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
}

/**
 * Lets an MCP client that starts a command speak to the gateway: each line of `input` is a POST, each message of the
 * answers a line of `output`, as they are. Resolves when the input has ended and every request was answered, or when
 * nobody reads the output any more; the session is ended then. Never rejects.
 */
export async function runStdioBridge(options: StdioBridgeOptions): Promise<void> {
  const bridge = new Bridge(options);
  await bridge.inputEnds();
  await bridge.end();
}

/** The answer in a response, or why there is none. */
interface Found {
  readonly answer: JsonObject | undefined;
  readonly detail: string;
}

interface InFlight {
  readonly line: BridgeLine;
  /** Aborted to leave its response. */
  readonly leave: AbortController;
  cancelled: boolean;
}

class Bridge {
  private readonly input: Readable;
  private readonly output: Writable;
  private readonly log: StdioBridgeOptions['log'];
  private readonly link: BridgeLink;
  private readonly over = new AbortController();
  private readonly order = new InOrder();
  private readonly inFlight = new Map<string | number, InFlight>();
  private initialize: BridgeLine | undefined;
  private renewing: Promise<boolean> | undefined;

  constructor({ url, token, input, output, log }: StdioBridgeOptions) {
    this.input = input;
    this.output = output;
    this.log = log;
    this.link = new BridgeLink({ url, token, signal: this.over.signal });
    output.on('error', () => this.over.abort());
  }

  /** Takes lines until there are none any more. */
  async inputEnds(): Promise<void> {
    const { input } = this;
    const lines = new LineReader(MAX_MESSAGE_BYTES, (line) => this.take(line));
    input.on('data', (chunk: Buffer | string) => lines.add(Buffer.from(chunk)));
    await new Promise<void>((resolve) => {
      for (const event of ['end', 'close', 'error']) input.on(event, () => resolve());
      this.over.signal.addEventListener('abort', () => resolve());
    });
    // The last line may end with the input.
    lines.add(Buffer.from('\n'));
  }

  async end(): Promise<void> {
    const { signal } = this.over;
    for (const { cancelled, leave } of this.inFlight.values()) if (cancelled) leave.abort();
    await Promise.race([this.order.settled(), delay(LONGEST_END_MS, undefined, { signal }).catch(() => undefined)]);
    this.over.abort();
    await this.link.end();
  }

  private take(text: string | undefined): void {
    if (text === undefined) {
      this.write(errorText('null', INVALID_REQUEST, `A message has at most ${MAX_MESSAGE_BYTES} bytes; send less`));
      return;
    }
    if (text.trim() === '') return;
    const line = readBridgeLine(text);
    if (line === undefined) {
      this.write(errorText('null', INVALID_REQUEST, 'A line is one JSON-RPC message, and that is an object'));
      return;
    }
    const { method, id } = line;
    if (method === 'initialize') this.order.run('alone', () => this.begin(line));
    else if (id !== null) this.request(line, id);
    else if (!this.cancelHere(line)) this.order.run('notice', (taken) => this.send(line, taken));
  }

  private request(line: BridgeLine, id: string | number): void {
    const request = { line, leave: new AbortController(), cancelled: false };
    this.inFlight.set(id, request);
    this.order.run('request', async (taken) => {
      await this.send(line, taken, request);
      this.inFlight.delete(id);
    });
  }

  /** Without sessions, to leave the response is to cancel: true where the gateway is told in that way. */
  private cancelHere({ method, params }: BridgeLine): boolean {
    const id = method === 'notifications/cancelled' ? tokenOf(params['requestId']) : undefined;
    const request = id === undefined ? undefined : this.inFlight.get(id);
    if (request === undefined) return false;
    request.cancelled = true;
    if (request.line.stateless === null) return false;
    request.leave.abort();
    return true;
  }

  private async begin(line: BridgeLine): Promise<void> {
    this.link.sessionId = undefined;
    const opened = await this.open(line, (message) => this.write(message));
    if (opened === true) this.initialize = line;
    else if (opened !== false) this.fail(line, opened);
  }

  /** Opens a session. False where the server said no in its own words, which `write` got. */
  private async open(line: BridgeLine, write: (message: string) => void): Promise<boolean | BridgeFailure> {
    const { link } = this;
    const sent = await link.post(line.text);
    if (!sent.ok) return noResponse(link.url, sent);
    if (!isSuccess(sent.response)) return refused(link.url, sent.response);
    const { answer, detail } = await this.read(line, sent.response, write);
    if (answer === undefined) return noAnswer(detail);
    if (answer['result'] === undefined) return false;
    link.agree(sent.response.headers['mcp-session-id'], objectOr(answer['result'])['protocolVersion']);
    void link.listen((message) => this.write(message));
    return true;
  }

  private async send(line: BridgeLine, taken: () => void, request?: InFlight): Promise<void> {
    const { link } = this;
    const signal = request && AbortSignal.any([this.over.signal, request.leave.signal]);
    const posting = { sessionId: link.sessionId, stateless: line.stateless, signal };
    let sent = await link.post(line.text, posting);
    // A 404 proves that nothing was taken up; the client itself cannot begin anew without being started anew.
    if (sent.ok && sent.response.statusCode === 404 && (await this.renewed(posting.sessionId))) {
      leave(sent.response);
      sent = await link.post(line.text, { ...posting, sessionId: link.sessionId });
    }
    taken();
    const failure = await this.answer(line, sent);
    if (failure !== undefined && request?.cancelled !== true) this.fail(line, failure);
  }

  /** Reads the answer to a line; what went wrong where there is none. */
  private async answer(line: BridgeLine, sent: HttpExchange): Promise<BridgeFailure | undefined> {
    const { url } = this.link;
    if (!sent.ok) return noResponse(url, sent);
    if (!isSuccess(sent.response)) return refused(url, sent.response);
    if (line.id === null) {
      leave(sent.response);
      return undefined;
    }
    const { answer, detail } = await this.read(line, sent.response, (message) => this.write(message));
    return answer === undefined ? noAnswer(detail) : undefined;
  }

  /** Gives every message of a response to `write`, up to the one that answers the line. */
  private async read({ id }: BridgeLine, response: IncomingMessage, write: (message: string) => void): Promise<Found> {
    const found: { answer: JsonObject | undefined } = { answer: undefined };
    const { detail } = await this.link.read(response, (message) => {
      if (id !== null) found.answer = answerOf(message, id);
      write(message);
      return found.answer !== undefined;
    });
    return { ...found, detail };
  }

  /** Replays the client's own `initialize` where its session is gone. True where there is another one. */
  private async renewed(gone: string | undefined): Promise<boolean> {
    const { link, initialize } = this;
    if (initialize === undefined || gone === undefined) return false;
    if (link.sessionId !== gone) return link.sessionId !== undefined;
    this.renewing ??= this.renew(initialize).finally(() => (this.renewing = undefined));
    return this.renewing;
  }

  private async renew(initialize: BridgeLine): Promise<boolean> {
    // The answer is not for the client: it has had one.
    if ((await this.open(initialize, () => undefined)) !== true) return false;
    this.log.warn({}, 'bridge.sessionRenewed');
    const sent = await this.link.post(INITIALIZED, { sessionId: this.link.sessionId });
    if (sent.ok) leave(sent.response);
    this.write(TOOLS_CHANGED);
    return true;
  }

  /** Tells the client of a failure, where it waits for an answer. */
  private fail({ text, id, method }: BridgeLine, { code, message }: BridgeFailure): void {
    if (id !== null) this.write(errorText(idText(text), code, message));
    else this.log.warn({ method, message }, 'bridge.notDelivered');
  }

  /** One message is one write, so that lines never mix. */
  private write(message: string): void {
    if (this.output.writable) this.output.write(`${onOneLine(message)}\n`);
    else this.over.abort();
  }
}

function isSuccess({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300;
}
