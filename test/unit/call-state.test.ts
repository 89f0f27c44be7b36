import { progressSince, type CallState } from '../../core/call-state';
import type { ApprovalRequest } from '../../core/request';

const pending = (revision: number): CallState => ({
  status: 'pending',
  request: { revision } as ApprovalRequest,
  level: 1,
  dueAtMs: 5_000,
});

test('a turn that knows the open revision is told its times only', () => {
  expect(progressSince(pending(2), 2)).toEqual({ status: 'waiting', level: 1, dueAtMs: 5_000 });
});

test('a turn that knows an earlier revision is told the new one', () => {
  expect(progressSince(pending(2), 1)).toEqual(pending(2));
});

test('a call that waits no more is told as it is, and one that is not on record not at all', () => {
  expect(progressSince({ status: 'allowed', revision: 2 }, 2)).toEqual({ status: 'allowed', revision: 2 });
  expect(progressSince(null, 1)).toBeNull();
});
