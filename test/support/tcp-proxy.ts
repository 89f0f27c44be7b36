import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a server that can be cut, and mended at the same address. */
export interface TcpProxy {
  readonly port: number;
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** Connections stay open, and nothing goes through them any more. */
  freeze(): void;
}

export async function startTcpProxy(target: { readonly host: string; readonly port: number }): Promise<TcpProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  const server = createServer((inward) => {
    const outward = connect(target);
    const pair = [inward, outward] as const;
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    for (const socket of pair) socket.on('error', end).on('close', end);
    inward.pipe(outward).pipe(inward);
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    cut: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const pair of pairs) for (const socket of pair) socket.resetAndDestroy();
      }),
    mend: () => listen(port),
    freeze() {
      for (const [inward, outward] of pairs) inward.unpipe(outward);
    },
  };
}
