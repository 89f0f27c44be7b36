import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultPayloadConverter } from '@temporalio/common';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { Worker } from '@temporalio/worker';
import { dataConverterFor } from '../../client/payload-codec';
import { TRACE_HEADER } from '../../workflows/messages';
import { TURN_SHAPES } from '../support/turn-shapes';

const FOLDER = join(__dirname, '../histories');
const recorded = readdirSync(FOLDER).map((file) => file.replace(/\.json$/, ''));
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

interface RecordedHistory {
  readonly events: readonly {
    readonly workflowExecutionStartedEventAttributes?: { readonly header: { fields?: object } };
  }[];
}

const bundlePath = process.env['HOLDPOINT_TEST_BUNDLE'] ?? '';

const replay = (name: string, codePath = bundlePath): Promise<void> =>
  Worker.runReplayHistory(
    { workflowBundle: { codePath }, dataConverter: dataConverterFor(undefined) },
    historyFromJSON(JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'))),
  );

test('a history of every shape of turn is kept', () => {
  expect(recorded.sort()).toEqual(Object.keys(TURN_SHAPES).sort());
});

// Released histories stay: a change of the workflows that fails here needs `patched()` or a type of its own.
test.each(recorded)('the history %s replays [ENG-09] [ENG-12]', (name) => replay(name), 30_000);

test('a history replays where its turn was in a trace [ENG-09]', async () => {
  const history = JSON.parse(readFileSync(join(FOLDER, 'allowed-by-update.json'), 'utf8')) as RecordedHistory;
  const place = defaultPayloadConverter.toPayload({ traceparent: TRACEPARENT });
  const base64 = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes ?? []).toString('base64');
  const header = { metadata: { encoding: base64(place.metadata?.['encoding']) }, data: base64(place.data) };
  history.events[0]!.workflowExecutionStartedEventAttributes!.header.fields = { [TRACE_HEADER]: header };
  await Worker.runReplayHistory(
    { workflowBundle: { codePath: bundlePath }, dataConverter: dataConverterFor(undefined) },
    historyFromJSON(history),
  );
}, 30_000);

describe('code that was altered on purpose', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdpoint-altered-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const altered = async (from: string, to: string): Promise<string> => {
    const code = readFileSync(bundlePath, 'utf8');
    expect(code.split(from).length).toBe(2);
    const path = join(folder, 'altered.js');
    await writeFile(path, code.replace(from, to));
    return path;
  };

  test('without its timer does not replay [ENG-09]', async () => {
    const timer = 'const restMs = Math.max(dueAtMs - Date.now(), 1);';
    const code = await altered(timer, `${timer} if (restMs > 0) return;`);
    await expect(replay('allowed-by-update', code)).rejects.toMatchObject({ name: 'DeterminismViolationError' });
  }, 30_000);

  test('with a timer too many does not replay [ENG-09]', async () => {
    const code = await altered('if (restMs > 0) await', 'await');
    await expect(replay('looked-up', code)).rejects.toMatchObject({ name: 'DeterminismViolationError' });
  }, 30_000);
});
