import { applyGatewayPolicy } from '../support/gateway-policy';
import { MESSAGE_SEEDS, mutations } from '../support/gateway-kill-mutations';
import { seededRandom } from '../support/gateway-kill-random';
import { exchangeRaw, framings } from '../support/gateway-kill-sockets';
import { endGatewayProcesses, startGatewayProcess, type GatewayProcess } from '../support/gateway-kill-stage';
import { callText, migration, rawClient } from '../support/gateway-rows';
import { callTool, startGatewayStage, type GatewayStage } from '../support/gateway-stage';

const REQUESTS = 2_000;
const TOGETHER = 40;
const PROTECTED = ['delete_rows', 'apply_migration', 'send_mail'] as const;

let stage: GatewayStage;
let fuzzed: GatewayProcess;
beforeAll(async () => {
  stage = await startGatewayStage();
  await applyGatewayPolicy(stage, { servers: { 'orders-db': { url: stage.tools.url } } });
  // In a process of its own: whatever nobody catches there ends it.
  fuzzed = await startGatewayProcess(stage, { edge: { waitForMs: 20 } });
}, 60_000);
afterAll(async () => {
  await endGatewayProcesses();
  await stage.close();
});

describe(`${REQUESTS} requests that are broken, cut off, flooded, pipelined or ambiguous`, () => {
  it('end no gateway, keep no good request from its answer, and bring no protected call to the upstream [CANON-8] [BYPASS-4] [BYPASS-2]', async () => {
    const good = await stage.client({ gateway: fuzzed.gateway });
    const { session = '' } = await rawClient(stage, { gateway: fuzzed.gateway });
    const port = Number(new URL(fuzzed.gateway.url).port);
    const head = [
      `Host: 127.0.0.1:${port}`,
      `Authorization: Bearer ${stage.token('u1')}`,
      `Mcp-Session-Id: ${session}`,
      'Content-Type: application/json',
      'Accept: application/json, text/event-stream',
    ];
    const random = seededRandom(7);
    const mutated = mutations(MESSAGE_SEEDS, 8);
    const whole = (): string => MESSAGE_SEEDS[Math.floor(random() * MESSAGE_SEEDS.length)] ?? '';
    const nextBody = (): string => (random() < 0.4 ? whole() : mutated());
    const frame = framings({ path: '/mcp/orders-db', head, random });
    const hidden = callText(9, 'apply_migration', migration('hidden'));
    const answered = new Map<string, number>();
    // A busy machine answers later: who waits for an answer is as patient as a good request had to be.
    let silentMs = 80;
    for (let round = 0; round < REQUESTS / TOGETHER; round += 1) {
      const sending = Array.from({ length: TOGETHER }, () =>
        exchangeRaw(port, frame(nextBody(), hidden), { half: random() < 0.3, silentMs }),
      );
      for (const { text } of await Promise.all(sending)) {
        const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 'none';
        answered.set(status, (answered.get(status) ?? 0) + 1);
      }
      const startMs = performance.now();
      expect((await callTool(good, 'read_rows', { table: 'orders' })).structuredContent).toEqual({
        rows: [{ id: 1, item: 'chair' }],
      });
      silentMs = Math.max(80, 4 * (performance.now() - startMs));
    }
    // Some were taken and some were refused, and nothing went wrong inside.
    expect([answered.get('200'), answered.get('400')].every((count = 0) => count > REQUESTS / 100)).toBe(true);
    expect([answered.get('500'), answered.get('503')]).toEqual([undefined, undefined]);
    expect(PROTECTED.map((tool) => stage.tools.receivedBy(tool).length)).toEqual([0, 0, 0]);
    expect(stage.tools.runs).toEqual([]);
    expect(fuzzed.child.recentOutput()).not.toMatch(/error/i);
  });
});
