import type { BenchContext, Measure } from '../bench-context';
import { timeOf } from '../clock';
import { beside, ms, noBar, perSecond, type Finding } from '../finding';
import { stdioClient, type BenchClient } from '../gateway-client';
import { startGatewayStack, type GatewayStack } from '../gateway-stack';
import { httpPeer, installPeers, stdioPeers, type Peer } from '../peers';
import { EVERYTHING, EVERYTHING_FILE, FREE_TOOL } from '../policy';
import { interleave, rateOf } from '../rounds';
import { percentile, ratios } from '../statistics';

const CALLERS = 32;

interface Side {
  readonly name: string;
  readonly call: () => Promise<unknown>;
}

/** The same calls through other gateways. None of them holds a call or asks anybody: this is what passing on costs. */
export const peers: Measure = {
  name: 'peers',
  title: 'Passing calls on, beside other gateways (none asks anybody)',
  async run(context: BenchContext): Promise<readonly Finding[]> {
    context.progress('installing the other gateways');
    await installPeers();
    const own = await startGatewayStack();
    try {
      return [...(await onHttp(context, own)), ...(await onStdio(context, own))];
    } finally {
      await own.close();
    }
  },
};

async function onHttp(context: BenchContext, own: GatewayStack): Promise<readonly Finding[]> {
  const call = (client: BenchClient) => () => client.call(FREE_TOOL, { table: 'orders' });
  const direct = { name: 'direct', call: call(await own.direct()) };
  const holdpoint = { name: 'Holdpoint', call: call(await own.through('user:amira')) };
  const others = [httpPeer(own.stack.places.toolUrl)];
  return withPeers(others, call, (sides) => compare(context, 'server on HTTP', [direct, holdpoint, ...sides]));
}

async function onStdio(context: BenchContext, own: GatewayStack): Promise<readonly Finding[]> {
  const call = (client: BenchClient) => () => client.call('echo', { message: 'hello' });
  const alone = await stdioClient(EVERYTHING_FILE);
  try {
    const direct = { name: 'direct', call: call(alone) };
    const holdpoint = { name: 'Holdpoint', call: call(await own.through('user:amira', EVERYTHING)) };
    const others = stdioPeers(EVERYTHING_FILE);
    return await withPeers(others, call, (sides) => compare(context, 'server on stdio', [direct, holdpoint, ...sides]));
  } finally {
    await alone.close();
  }
}

async function withPeers<T>(
  others: readonly Peer[],
  call: (client: BenchClient) => () => Promise<unknown>,
  work: (sides: readonly Side[]) => Promise<T>,
): Promise<T> {
  const started = await Promise.all(others.map(async (peer) => ({ peer, ...(await peer.start()) })));
  try {
    return await work(started.map(({ peer, client }) => ({ name: peer.name, call: call(client) })));
  } finally {
    await Promise.all(started.map(({ child }) => child.kill9()));
  }
}

/** Every side against the server asked directly, in turns. */
async function compare(
  { scale, progress }: BenchContext,
  where: string,
  sides: readonly Side[],
): Promise<readonly Finding[]> {
  for (const { call } of sides) await rateOf(scale.gatewayWarmUp, 4, call);
  const latencies: number[][] = sides.map(() => []);
  const rates: number[][] = sides.map(() => []);
  for (let block = 1; block <= scale.gatewayBlocks; block += 1) {
    const timed = await interleave(
      sides.map(
        ({ call }) =>
          () =>
            timeOf(call),
      ),
      scale.gatewayCalls,
    );
    timed.forEach((each, index) => latencies[index]?.push(percentile(each, 0.5)));
    const many = sides.map(
      ({ call }) =>
        () =>
          rateOf(scale.gatewayCalls * 2, CALLERS, call),
    );
    (await interleave(many, 1)).forEach((each, index) => rates[index]?.push(...each));
    progress(`${where}: block ${block} of ${scale.gatewayBlocks}`);
  }
  const [direct50 = [], directRate = []] = [latencies[0], rates[0]];
  return sides.slice(1).flatMap(({ name }, index) => {
    const [own50 = [], ownRate = []] = [latencies[index + 1], rates[index + 1]];
    return [
      {
        measure: `${name}, ${where}, p50; compared: direct`,
        ...beside(own50, direct50, ms),
        ...noBar(ratios(own50, direct50)),
      },
      {
        measure: `${name}, ${where}, ${CALLERS} at once; compared: direct`,
        ...beside(ownRate, directRate, perSecond),
        ...noBar(ratios(ownRate, directRate)),
      },
    ];
  });
}
