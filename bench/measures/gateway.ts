import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Holdpoint } from '../../client';
import type { BenchContext, Measure } from '../bench-context';
import { timeOf } from '../clock';
import { atLeast, atMost, beside, ms, noBar, perSecond, spreadText, type Finding } from '../finding';
import type { BenchClient } from '../gateway-client';
import { startGatewayStack, type GatewayStack } from '../gateway-stack';
import { ASKED_TOOL, FREE_TOOL, SERVER, WINDOW_TOOL } from '../policy';
import { residentMb } from '../processes';
import { interleave, rateOf } from '../rounds';
import { percentile, ratios } from '../statistics';

const CALLERS = 32;
const SESSIONS = 1_000;
/** As the gateway of this stack is set. */
const WAIT_FOR_MS = 4_000;

/** What a gateway costs a call that nobody asks about, and how long a call takes that is allowed. */
export const gateway: Measure = {
  name: 'gateway',
  title: 'The gateway, beside the tool server asked directly',
  async run(context: BenchContext): Promise<readonly Finding[]> {
    context.progress('starting Temporal, a worker, the tool server and a gateway');
    const own = await startGatewayStack();
    try {
      const free = await freeCalls(context, own);
      return [...free, await pending(own), ...(await approved(context, own)), await sessions(context, own)];
    } finally {
      await own.close();
    }
  },
};

async function freeCalls({ scale, progress }: BenchContext, own: GatewayStack): Promise<readonly Finding[]> {
  const clients = [await own.through('user:amira'), await own.direct()];
  const call = (client: BenchClient) => client.call(FREE_TOOL, { table: 'orders' });
  for (const client of clients) await rateOf(scale.gatewayWarmUp, 4, () => call(client));
  const latencies: [number[][], number[][]] = [[], []];
  const rates: [number[], number[]] = [[], []];
  for (let block = 1; block <= scale.gatewayBlocks; block += 1) {
    const timed = await interleave(
      clients.map((client) => () => timeOf(() => call(client))),
      scale.gatewayCalls,
    );
    timed.forEach((each, index) => latencies[index]?.push([...each]));
    const many = clients.map((client) => () => rateOf(scale.gatewayCalls * 4, CALLERS, () => call(client)));
    (await interleave(many, 1)).forEach((each, index) => rates[index]?.push(...each));
    progress(`calls that nobody asks about: block ${block} of ${scale.gatewayBlocks}`);
  }
  await Promise.all(clients.map((client) => client.close()));
  const at = (p: number) => latencies.map((side) => side.map((block) => percentile(block, p)));
  const [own50 = [], direct50 = []] = at(0.5);
  const [own95 = [], direct95 = []] = at(0.95);
  const measure = 'tools/call that nobody asks about; direct: the same without a gateway';
  return [
    { measure: `${measure}, p50`, ...beside(own50, direct50, ms), ...atMost(2, ratios(own50, direct50)) },
    { measure: `${measure}, p95`, ...beside(own95, direct95, ms), ...noBar(ratios(own95, direct95)) },
    {
      measure: `${measure}, ${CALLERS} at once`,
      ...beside(rates[0], rates[1], perSecond),
      ...atLeast(0.6, ratios(rates[0], rates[1])),
    },
  ];
}

/** How long after its waiting time a call is told that it is pending. */
async function pending(own: GatewayStack): Promise<Finding> {
  const lates = await Promise.all(
    Array.from({ length: 5 }, async (_, index) => {
      const client = await own.through(`user:pending-${index}`);
      const lateMs = (await timeOf(() => client.call(ASKED_TOOL, migration()))) - WAIT_FOR_MS;
      await client.close();
      return lateMs;
    }),
  );
  const met = Math.max(...lates) <= 50;
  return {
    measure: `the pending answer, after the ${WAIT_FOR_MS / 1_000} s that a call waits`,
    holdpoint: spreadText(lates, ms),
    compared: null,
    ratio: null,
    bar: '≤ 50 ms',
    met,
  };
}

/** The allow is on record before the call: by a window that covers it, and by a decision on this very call. */
async function approved({ scale, progress }: BenchContext, own: GatewayStack): Promise<readonly Finding[]> {
  const subject = 'user:window';
  const { holdpoint } = own;
  const client = await own.through(subject);
  await openWindow(own, client);
  const turn = () => timeOf(() => runTurn(holdpoint, subject));
  const call = () => timeOf(() => run(client, WINDOW_TOOL, { text: randomUUID() }));
  await rateOf(scale.gatewayWarmUp / 4, 4, turn);
  await rateOf(scale.gatewayWarmUp / 4, 4, call);
  const sides: [number[], number[], number[]] = [[], [], []];
  for (let block = 1; block <= scale.gatewayBlocks; block += 1) {
    const collect = await allowedCalls(own, `user:collect-${block}`);
    const samples = await interleave([call, turn, collect], ALLOWED);
    samples.forEach((each, index) => sides[index]?.push(percentile(each, 0.5)));
    progress(`approved calls: block ${block} of ${scale.gatewayBlocks}`);
  }
  await client.close();
  const [covered, turns, collected] = sides;
  return [
    {
      measure: 'a call that a window covers, p50; compared: the same as a turn of `client/`, start to results',
      ...beside(covered, turns, ms),
      ...atMost(1.3, ratios(covered, turns)),
    },
    {
      measure: 'a call that was allowed after it was told that it is pending, sent again, p50; compared: the same turn',
      ...beside(collected, turns, ms),
      ...atMost(1.3, ratios(collected, turns)),
    },
  ];
}

/** As many as one requester may have open. */
const ALLOWED = 10;

/** Calls that are pending, then allowed; each task sends one of them again and takes its time. */
async function allowedCalls(own: GatewayStack, subject: string): Promise<() => Promise<number>> {
  const client = await own.through(subject);
  const args = Array.from({ length: ALLOWED }, migration);
  const told = await Promise.all(args.map((given) => client.call(ASKED_TOOL, given)));
  for (const { operationId } of told) await own.allow(operationId ?? '');
  await delay(500);
  return () => timeOf(() => run(client, ASKED_TOOL, args.pop() ?? {}));
}

async function openWindow(own: GatewayStack, client: BenchClient): Promise<void> {
  const { operationId } = await client.call(WINDOW_TOOL, { text: 'first' });
  await own.allow(operationId ?? '');
  await run(client, WINDOW_TOOL, { text: 'first' });
}

async function runTurn(holdpoint: Holdpoint, subject: string): Promise<void> {
  const turn = await holdpoint.startTurn({
    id: randomUUID(),
    requester: { subject, agent: 'bench' },
    calls: [{ id: 'c1', server: SERVER, tool: WINDOW_TOOL, arguments: { text: randomUUID() } }],
  });
  const [result] = await turn.results();
  if (result?.outcome !== 'executed') throw new Error(`not executed: ${JSON.stringify(result)}`);
}

async function run(client: BenchClient, tool: string, given: Readonly<Record<string, unknown>>): Promise<void> {
  const { status } = await client.call(tool, given);
  if (status !== 'approved') throw new Error(`the call is ${status ?? 'not held'}, not approved`);
}

/** What a session costs that its client has opened and left idle. */
async function sessions({ progress }: BenchContext, own: GatewayStack): Promise<Finding> {
  progress(`${SESSIONS} sessions`);
  const before = await residentMb(own.gateway);
  const clients: BenchClient[] = [];
  for (let count = 0; count < SESSIONS; count += 1) clients.push(await own.through(`user:session-${count % 20}`));
  await delay(5_000);
  const each = ((await residentMb(own.gateway)) - before) * 1_024 * (1 / SESSIONS);
  await Promise.all(clients.map((client) => client.close()));
  return {
    measure: `memory of the gateway for each of ${SESSIONS} idle sessions`,
    holdpoint: `${each.toFixed(0)} kB`,
    compared: null,
    ratio: null,
    bar: '≤ 60 kB',
    met: each <= 60,
  };
}

function migration(): Readonly<Record<string, string>> {
  return { environment: 'production', sql: `ALTER TABLE orders ADD COLUMN n_${randomUUID().slice(0, 8)} TEXT` };
}
