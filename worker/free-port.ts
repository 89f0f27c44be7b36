import { once } from 'node:events';
import { createServer } from 'node:net';

/** A port of the loopback interface that nothing listens on: `preferred` if it is free, else one the system picks. */
export async function freePort(preferred = 0): Promise<number> {
  const server = createServer();
  try {
    server.listen(preferred, '127.0.0.1');
    await once(server, 'listening');
  } catch (error) {
    if (preferred === 0) throw error;
    return freePort();
  }
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a numeric port');
  return address.port;
}
