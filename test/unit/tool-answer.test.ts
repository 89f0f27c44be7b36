import type { RpcReply } from '../../activities/rpc';
import { judgeReply } from '../../activities/tool-answer';

const content = [{ type: 'text', text: 'x' }];
const error = (code: number, httpStatus: number | null = 200): RpcReply => ({
  kind: 'error',
  code,
  message: 'm',
  httpStatus,
});

describe('judgeReply', () => {
  it.each<{ name: string; reply: RpcReply; kind: string; withSchema?: string }>([
    { name: 'a result', reply: { kind: 'result', result: { content } }, kind: 'result' },
    { name: 'a result with isError', reply: { kind: 'result', result: { content, isError: true } }, kind: 'result' },
    { name: 'structured content alone', reply: { kind: 'result', result: { structuredContent: {} } }, kind: 'result' },
    { name: 'no connection', reply: { kind: 'notDispatched', detail: 'refused' }, kind: 'notSent' },
    { name: 'a session that is gone', reply: { kind: 'sessionGone', detail: '404' }, kind: 'notSent' },
    { name: 'a parse error', reply: error(-32700), kind: 'notSent' },
    { name: 'an invalid request', reply: error(-32600), kind: 'notSent' },
    { name: 'an unknown method', reply: error(-32601), kind: 'notSent' },
    { name: 'invalid parameters', reply: error(-32602), kind: 'notSent', withSchema: 'ambiguous' },
    { name: 'an internal error', reply: error(-32603), kind: 'ambiguous' },
    { name: "a server's own error", reply: error(-32000), kind: 'ambiguous' },
    { name: 'an error that is not in the standard', reply: error(1), kind: 'ambiguous' },
    { name: 'no answer', reply: { kind: 'lost', detail: 'reset', timedOut: false }, kind: 'ambiguous' },
    { name: 'a task', reply: { kind: 'result', result: { task: { taskId: 't' } } }, kind: 'ambiguous' },
    { name: 'content of another form', reply: { kind: 'result', result: { content: [1] } }, kind: 'ambiguous' },
    {
      name: 'a number that no JSON has',
      reply: { kind: 'result', result: { content, n: Infinity } },
      kind: 'ambiguous',
    },
  ])('takes $name for $kind [EXEC-11]', ({ reply, kind, withSchema = kind }) => {
    expect(judgeReply(reply, { hasOutputSchema: false }).kind).toBe(kind);
    expect(judgeReply(reply, { hasOutputSchema: true }).kind).toBe(withSchema);
  });

  it('counts the bytes of the canonical result', () => {
    const answer = judgeReply(
      { kind: 'result', result: { content: [{ type: 'text', text: 'é' }] } },
      { hasOutputSchema: false },
    );
    expect(answer.kind === 'result' && answer.bytes).toBe('{"content":[{"text":"é","type":"text"}]}'.length + 1);
  });
});
