import { endedText } from '../../cli/dev/worker-words';

test('a worker that ended leaves the terminal its troubles in words, and no line of its log', () => {
  const output = [
    '{"level":30,"msg":"audit checkpoint"}',
    '{"level":40,"msg":"audit checkpoint failed","detail":"disk full"}',
    '{"level":60,"msg":"worker failed"}',
    'holdpoint: The worker cannot start',
    '{"not":"a log line"}',
    '',
  ].join('\n');
  expect(endedText({ code: 3, signal: null }, output)).toBe(
    `The worker has ended (exit code 3) and is started again; see worker.log.
  audit checkpoint failed: disk full
  worker failed
  holdpoint: The worker cannot start
  {"not":"a log line"}`,
  );
});

test('a worker that was killed names the signal', () => {
  expect(endedText({ code: null, signal: 'SIGKILL' }, '')).toBe(
    'The worker has ended (SIGKILL) and is started again; see worker.log.',
  );
});
