import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createStdioEndpoint } from '../../gateway/stdio/stdio-endpoint';
import type { StdioEndpointOptions } from '../../gateway/stdio/stdio-endpoint';
import { RawClient, serve } from './gateway-stdio-client';
import type { RawClientOptions, Served } from './gateway-stdio-client';
import { testGate } from './gateway-stdio-gate';
import type { TestGate } from './gateway-stdio-gate';
import { recordedLog } from './recorded-log';
import type { RecordedLog } from './recorded-log';

export const ODD_SERVER = join(__dirname, 'gateway-stdio-odd-server.cjs');

export interface Stage {
  readonly url: URL;
  readonly gate: TestGate;
  readonly log: RecordedLog;
  /** A client with a session. */
  client(options?: RawClientOptions & { capabilities?: string }): Promise<RawClient>;
  /** Every line that the servers of this stage have read so far. */
  linesRead(): readonly string[];
  close(): Promise<void>;
}

export type StageOptions = Partial<Pick<StdioEndpointOptions, 'limits'>> & {
  readonly args?: readonly string[];
  readonly command?: string;
  readonly env?: Readonly<Record<string, string>>;
};

/** An endpoint for the odd server, or another one, with a gate that passes everything. */
export async function openStage({ limits, args, command, env }: StageOptions = {}): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'stdio-endpoint-'));
  const lines = join(folder, 'lines');
  const gate = testGate();
  const log = recordedLog();
  const endpoint = createStdioEndpoint({
    name: 'odd',
    transport: {
      kind: 'stdio',
      command: command ?? process.execPath,
      args: args ?? [ODD_SERVER],
      env: { LINES: lines, ...env },
      cwd: null,
    },
    resolveSecret: () => undefined,
    ...{ gate, log },
    ...(limits !== undefined && { limits }),
  });
  const served: Served = await serve(endpoint);
  return {
    url: served.url,
    ...{ gate, log },
    async client({ capabilities, ...options } = {}) {
      const client = new RawClient(served.url, options);
      await client.initialise(capabilities);
      return client;
    },
    linesRead: () => readFileSync(lines, 'utf8').split('\n').slice(0, -1),
    async close() {
      await served.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The process of the odd server behind a client's session. */
export async function pidOf(client: RawClient): Promise<number> {
  const answer = await client.call('"pid"', 'bare');
  await answer.ended;
  const text = /pid ([0-9]+)/.exec(answer.messages.at(-1) ?? '')?.[1];
  return Number(text);
}

export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
