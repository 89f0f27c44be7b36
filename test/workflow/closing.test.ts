import { Client, Connection } from '@temporalio/client';
import { grpcInterceptors } from '../../client/grpc-interceptors';
import { startTcpProxy } from '../support/tcp-proxy';

test('a connection that is closed in the pause before a next try ends the call, and not the process', async () => {
  const [host = '', port] = (process.env['HOLDPOINT_TEST_TEMPORAL'] ?? '').split(':');
  const proxy = await startTcpProxy({ host, port: Number(port) });
  const thrown: unknown[] = [];
  const listener = (error: unknown) => thrown.push(error);
  process.on('uncaughtException', listener);
  const connection = await Connection.connect({
    address: `127.0.0.1:${proxy.port}`,
    interceptors: grpcInterceptors(),
  });
  const client = new Client({ connection });
  await proxy.cut();
  const ends = Array.from({ length: 8 }, async (_, at) => {
    try {
      await client.workflow.getHandle(`nobody-${at}`).describe();
      return 'answered';
    } catch (error) {
      return String((error as Error).cause ?? error);
    }
  });
  // The first try of each has failed at once by then, and the next one is to come.
  await new Promise((resolve) => setTimeout(resolve, 60));
  await connection.close();
  const told = await Promise.all(ends);
  expect(new Set(told.map((text) => /the connection was closed/.test(text)))).toEqual(new Set([true]));
  process.off('uncaughtException', listener);
  expect(thrown).toEqual([]);
}, 30_000);
