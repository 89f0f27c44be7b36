import { spawn } from 'node:child_process';
import { createServer, request } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { refusalOf } from '../../gateway/wire/refusal';
import type { StdioEndpoint } from '../../gateway/stdio/stdio-endpoint';
import { eventually } from './eventually';

export interface Served {
  readonly url: URL;
  close(): Promise<void>;
}

/**
 * An endpoint behind HTTP; the header `X-Subject` stands for a person who was authenticated, and `X-May-Call: no` for a
 * token without that scope. The token `stale` is refused.
 */
export async function serve(endpoint: StdioEndpoint): Promise<Served> {
  const server = createServer((req, res) => {
    if (req.headers.authorization === 'Bearer stale') {
      res.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end();
      return;
    }
    const subject = String(req.headers['x-subject'] ?? 'alice');
    const requester = { subject, agent: 'agent', chain: [] };
    const may = { requester, mayCall: true, challenge: null } as const;
    const mayNot = { requester, mayCall: false, challenge: refusalOf(403, 'The token may not call tools') } as const;
    void endpoint.handle(req, res, req.headers['x-may-call'] === 'no' ? mayNot : may);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp/odd`),
    async close() {
      await endpoint.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A response while it comes: `messages` are the raw texts of its JSON body or of its events so far. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly messages: string[];
  /** Comments of its stream so far: signs of life. */
  readonly comments: string[];
  readonly ended: Promise<void>;
  leave(): void;
}

export interface RawClientOptions {
  readonly subject?: string;
  readonly session?: string | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

const POST_HEADERS = { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json' };

/** A client that sends and shows texts, and reads nothing into them. */
export class RawClient {
  session: string | undefined;
  private readonly url: URL;
  private readonly options: RawClientOptions;

  constructor(url: URL, options: RawClientOptions = {}) {
    this.url = url;
    this.options = options;
    this.session = options.session;
  }

  /** Sends `initialize` and `initialized`, and keeps the session. */
  async initialise(capabilities = '{}', version = '2025-06-18'): Promise<Answer> {
    const params = `{"protocolVersion":"${version}","capabilities":${capabilities},"clientInfo":{"name":"raw","version":"1"}}`;
    const answer = await this.post(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":${params}}`);
    await answer.ended;
    this.session = answer.headers['mcp-session-id'] as string | undefined;
    if (this.session !== undefined) await this.post('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    return answer;
  }

  post(body: string | Buffer, headers: Readonly<Record<string, string | undefined>> = {}): Promise<Answer> {
    return this.send('POST', { ...POST_HEADERS, ...headers }, body);
  }

  /** A tools/call; `id` and `args` are JSON texts. */
  call(id: string, name: string, args = '{}'): Promise<Answer> {
    return this.post(
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`,
    );
  }

  get(headers: Readonly<Record<string, string | undefined>> = {}): Promise<Answer> {
    return this.send('GET', { Accept: 'text/event-stream', ...headers });
  }

  delete(): Promise<Answer> {
    return this.send('DELETE', {});
  }

  send(method: string, headers: Readonly<Record<string, string | undefined>>, body?: string | Buffer): Promise<Answer> {
    const all = {
      'X-Subject': this.options.subject,
      'Mcp-Session-Id': this.session,
      ...this.options.headers,
      ...headers,
    };
    const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    return new Promise((resolve, reject) => {
      const outgoing = request(this.url, { method, headers: given as Record<string, string>, agent: false });
      outgoing.on('response', (response) => resolve(answerOf(response)));
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }
}

function answerOf(response: IncomingMessage): Answer {
  const messages: string[] = [];
  const comments: string[] = [];
  const isStream = response.headers['content-type'] === 'text/event-stream';
  let rest = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    rest += chunk;
    if (!isStream) return;
    const events = rest.split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      if (event.startsWith('event: message\ndata: ')) messages.push(event.slice(21));
      else comments.push(event);
    }
  });
  const ended = new Promise<void>((resolve) => {
    response.on('error', () => undefined);
    response.on('close', () => {
      if (!isStream && rest !== '') messages.push(rest);
      resolve();
    });
  });
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    messages,
    comments,
    ended,
    leave: () => void response.destroy(),
  };
}

/** All of an answer, once it has ended. */
export async function whole(answer: Promise<Answer>): Promise<readonly string[]> {
  const { messages, ended } = await answer;
  await ended;
  return messages;
}

/** A server on stdio without a gateway between: what it writes, line by line. */
export interface Direct {
  readonly lines: string[];
  send(line: string): void;
  /** Sends a line and gives what the server wrote since, once the last of it has this id. */
  ask(id: string | number, line: string): Promise<readonly string[]>;
  close(): void;
}

export function startDirect(args: readonly string[], env: Readonly<Record<string, string>> = {}): Direct {
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'ignore'] });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => void lines.push(line));
  const send = (line: string): void => void child.stdin.write(`${line}\n`);
  return {
    lines,
    send,
    async ask(id, line) {
      const from = lines.length;
      send(line);
      return eventually(() => {
        const found = lines.findIndex((text, at) => at >= from && isAnswerTo(id, text));
        if (found === -1) throw new Error(`No answer to ${id} in ${JSON.stringify(lines.slice(from))}`);
        return lines.slice(from, found + 1);
      });
    },
    close: () => void child.kill('SIGKILL'),
  };
}

function isAnswerTo(id: string | number, text: string): boolean {
  const message = JSON.parse(text) as { id?: unknown; method?: unknown };
  return message.id === id && message.method === undefined;
}
