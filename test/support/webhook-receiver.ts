import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedWebhook {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface WebhookReceiver {
  readonly url: string;
  readonly received: readonly ReceivedWebhook[];
  /** How the next messages are answered: the last way stays. By default with 204. */
  answer(...ways: ((response: ServerResponse) => void)[]): void;
  close(): Promise<void>;
}

export const ok = (response: ServerResponse): void => void response.writeHead(204).end();
export const failing =
  (status: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, headers).end();
/** The message arrived, its answer does not. */
export const lost = (response: ServerResponse): void => void response.destroy();
export const silent = (): void => undefined;

/** An HTTP server that keeps what it gets. */
export async function startReceiver(): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = [];
  let ways: ((response: ServerResponse) => void)[] = [ok];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString('utf8') });
      const [way = ok] = ways;
      if (ways.length > 1) ways = ways.slice(1);
      way(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    answer: (...next) => {
      ways = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
