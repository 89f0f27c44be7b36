import { join } from 'node:path';
import { findTemporalBinary } from '../../worker/temporal-binary';
import { startTemporalServer } from '../../worker/temporal-server';
import { provideChromium } from './browser';
import { startPostgres } from './postgres-server';
import { workflowBundle } from './workflow-bundle';

export type Service = 'temporal' | 'postgres' | 'chromium';

/** What `stopServices` needs; Jest runs set-up and tear-down in one process, but not as one module. */
declare global {
  var holdpointTestServices: (() => Promise<void>)[] | undefined;
}

const CACHE_DIR = join(__dirname, '../../node_modules/.cache/holdpoint');

/** Starts what the selected tests need and tells them by environment variables where it is. */
export async function startServices(services: ReadonlySet<Service>): Promise<void> {
  globalThis.holdpointTestServices = [];
  const starting: Promise<void>[] = [];
  if (services.has('temporal')) starting.push(provideTemporal(), provideBundle());
  if (services.has('postgres')) starting.push(providePostgres());
  if (services.has('chromium')) starting.push(provideBrowser());
  const failed = (await Promise.allSettled(starting)).filter((result) => result.status === 'rejected');
  if (failed.length === 0) return;
  await stopServices();
  throw new AggregateError(
    failed.map(({ reason }) => reason as unknown),
    failed.map(({ reason }) => String(reason)).join('\n'),
  );
}

export async function stopServices(): Promise<void> {
  await Promise.all((globalThis.holdpointTestServices ?? []).map((stop) => stop()));
  globalThis.holdpointTestServices = [];
}

/** In memory, shared by all tests: they tell their turns apart by id and task queue. */
async function provideTemporal(): Promise<void> {
  // Its garbage collector takes a quarter of its time otherwise, and the machine has the memory.
  process.env['GOGC'] ??= '400';
  const binary = await findTemporalBinary({ stateDir: CACHE_DIR, env: process.env, onProgress: console.error });
  if (!binary.ok) throw new Error(binary.detail);
  const started = await startTemporalServer({ binary: binary.path, namespace: 'default', log: () => undefined });
  if (!started.ok) throw new Error(started.detail);
  globalThis.holdpointTestServices?.push(() => started.server.kill9());
  process.env['HOLDPOINT_TEST_TEMPORAL_CLI'] = binary.path;
  process.env['HOLDPOINT_TEST_TEMPORAL'] = started.server.address;
}

/** Workflows that cannot be bundled fail their own tests, not those that need no bundle. */
async function provideBundle(): Promise<void> {
  const path = await workflowBundle(CACHE_DIR).catch((error: unknown) => {
    console.error(`The workflows cannot be bundled, so HOLDPOINT_TEST_BUNDLE is not set: ${String(error)}`);
  });
  if (path !== undefined) process.env['HOLDPOINT_TEST_BUNDLE'] = path;
}

async function provideBrowser(): Promise<void> {
  const browser = await provideChromium();
  globalThis.holdpointTestServices?.push(() => browser.close());
  process.env['HOLDPOINT_TEST_BROWSER'] = browser.address;
}

async function providePostgres(): Promise<void> {
  const given = process.env['HOLDPOINT_TEST_POSTGRES_URL'];
  if (given !== undefined && given !== '') {
    process.env['HOLDPOINT_TEST_POSTGRES'] = given;
    return;
  }
  const server = await startPostgres();
  globalThis.holdpointTestServices?.push(() => server.stop());
  process.env['HOLDPOINT_TEST_POSTGRES'] = server.url;
}
