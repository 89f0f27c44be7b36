import { connect } from 'node:net';

export interface RawExchange {
  /** What came back until the connection ended, or until nothing more came. */
  readonly text: string;
  readonly closed: boolean;
}

export interface RawExchangeOptions {
  /** Whether the client ends its side once everything is written. */
  readonly half: boolean;
  /** How long the server may be silent. */
  readonly silentMs: number;
}

/** Writes bytes to a port as they are, and takes what comes back; it never throws. */
export function exchangeRaw(port: number, bytes: Buffer, { half, silentMs }: RawExchangeOptions): Promise<RawExchange> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, '127.0.0.1');
    const done = (closed: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text: Buffer.concat(chunks).toString('latin1'), closed });
    };
    const timer = setTimeout(() => done(false), silentMs);
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      timer.refresh();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => done(true));
    if (half) socket.end(bytes);
    else socket.write(bytes);
  });
}

export interface FramingOptions {
  readonly path: string;
  /** Header lines that let a request in. */
  readonly head: readonly string[];
  readonly random: () => number;
}

/** Requests of HTTP around a body whose framing is right, wrong, or means two things to two readers. */
export function framings({ path, head, random }: FramingOptions): (body: string, hidden: string) => Buffer {
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = (from: readonly string[]): string => from[below(from.length)] ?? '';
  const bytesOf = (text: string): number => Buffer.byteLength(text);
  const request = (lines: readonly string[], body: string, verb = 'POST'): string =>
    [`${verb} ${path} HTTP/1.1`, ...head, ...lines, '', body].join('\r\n');
  const right = (body: string): string => request([`Content-Length: ${bytesOf(body)}`], body);
  const chunked = (body: string): string => {
    const parts: string[] = [];
    for (let at = 0; at < body.length;) {
      const part = body.slice(at, at + 1 + below(40));
      parts.push(`${bytesOf(part).toString(16)}${pick(['', '', ';x=1', ';"a\\"'])}\r\n${part}\r\n`);
      at += part.length;
    }
    return `${parts.join('')}0\r\n${pick(['', '', 'X-Trailer: 1\r\n'])}\r\n`;
  };
  const broken = (text: string): string => {
    const at = below(text.length + 1);
    return (
      text.slice(0, at) +
      pick(['\r\n', '\n', '0', '-1', 'ffffffffffffffff', ' ', '\u0000', '']) +
      text.slice(at + below(3))
    );
  };
  const kinds: readonly ((body: string, hidden: string) => string)[] = [
    right,
    (body) => request([`Content-Length: ${bytesOf(body) + 1 + below(100)}`], body),
    (body, hidden) => request([`Content-Length: ${below(bytesOf(body))}`], body + right(hidden)),
    (body) => request(['Transfer-Encoding: chunked'], chunked(body)),
    (body) => request(['Transfer-Encoding: chunked'], broken(chunked(body))),
    (body, hidden) =>
      request([`Content-Length: ${bytesOf(body)}`, 'Transfer-Encoding: chunked'], `0\r\n\r\n${right(hidden)}`),
    (body, hidden) =>
      request(
        [
          `Content-Length: ${bytesOf(body)}`,
          pick([
            'Transfer-Encoding: x',
            'Transfer-Encoding : chunked',
            'Transfer-Encoding:\tchunked',
            ' Transfer-Encoding: chunked',
            'Content-Length: 0',
            'Content-Length: +5',
            'Content-Length: 5, 6',
          ]),
        ],
        body + right(hidden),
      ),
    (body) =>
      request(
        [...Array.from({ length: below(3_000) }, (_, at) => `X-${at}: ${at}`), `Content-Length: ${bytesOf(body)}`],
        body,
      ),
    (body) => request([`X-Long: ${'x'.repeat(below(60_000))}`, `Content-Length: ${bytesOf(body)}`], body),
    (body) => right(body).slice(0, below(right(body).length)),
    (body, hidden) => right('{"jsonrpc":"2.0","id":1,"method":"ping"}') + right(body) + right(hidden) + right(body),
    (body) => broken(broken(right(body))),
    (body) =>
      request(
        [`Content-Length: ${bytesOf(body)}`],
        body,
        pick(['GET', 'PUT', 'OPTIONS', 'HEAD', 'TRACE', 'post', 'CONNECT']),
      ),
    (body) => request([`Content-Length: ${bytesOf(body)}`, 'Expect: 100-continue'], body),
    (body) =>
      request(
        [
          `Content-Length: ${bytesOf(body)}`,
          pick([
            'Connection: upgrade',
            'Upgrade: websocket',
            'Content-Encoding: gzip',
            'Content-Type: text/plain',
            'Mcp-Session-Id: other',
            'Host: evil.example',
            'Origin: http://evil.example',
          ]),
        ],
        body,
      ),
  ];
  return (body, hidden) => Buffer.from((kinds[below(kinds.length)] ?? right)(body, hidden));
}
