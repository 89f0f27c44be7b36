import { mkdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { startHarness } from './harness';
import { startServices, stopServices } from './services';
import { TURN_SHAPES } from './turn-shapes';

const FOLDER = join(__dirname, '../histories');

/**
 * Records the history of a turn of each shape into `test/histories/`, on a server of its own:
 *   node -r ./test/support/ts-hook.cjs test/support/record-histories.ts
 * Run it after a change of the workflows that no released version has seen; histories of a release stay as they are.
 */
async function main(): Promise<void> {
  await startServices(new Set(['temporal']));
  await mkdir(FOLDER, { recursive: true });
  try {
    for (const [name, run] of Object.entries(TURN_SHAPES)) await record(name, run);
  } finally {
    await stopServices();
  }
}

async function record(name: string, run: (typeof TURN_SHAPES)[string]): Promise<void> {
  const harness = await startHarness();
  try {
    const workflowId = await run(harness);
    const history = await harness.holdpoint.client.workflow.getHandle(workflowId).fetchHistory();
    // Which process and machine recorded it is nobody's business.
    const text = historyToJSON(history).replaceAll(`${process.pid}@${hostname()}`, 'worker');
    await writeFile(join(FOLDER, `${name}.json`), `${text}\n`);
    console.log(`${name}: ${history.events?.length ?? 0} events`);
  } finally {
    await harness.close();
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
