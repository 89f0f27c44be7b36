import type { JsonValue } from '../../core/json';
import { readToolCall } from '../../gateway/gate/tool-call';
import { readMessage } from '../../gateway/wire/read-message';
import { idText } from '../../gateway/wire/raw-json';
import { MESSAGE_SEEDS, mutations } from '../support/gateway-kill-mutations';

const BODIES = 100_000;
const SLOWEST_MS = 1_000;

interface Upstream {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly name?: unknown; readonly arguments?: unknown; readonly _meta?: unknown };
}

/** What the gate reads of a message, and what an upstream that parses the same text reads. */
function views(text: string): { readonly gate: unknown; readonly upstream: unknown } | null {
  const read = readMessage(text);
  if (!read.ok) return null;
  const { message } = read;
  const told = JSON.parse(message.text) as Upstream;
  const { id = null, method = null, params } = told;
  const upstream = { id, method, name: params?.name, arguments: params?.arguments ?? {}, meta: params?._meta ?? {} };
  const call = message.method === 'tools/call' ? readToolCall(message) : null;
  const own = (name: string): JsonValue | undefined =>
    Object.hasOwn(message.params, name) ? message.params[name] : undefined;
  const gate = {
    id: message.id,
    method: message.method,
    name: call?.ok === true ? call.call.tool : message.kind === 'reply' ? params?.name : own('name'),
    arguments:
      call?.ok === true
        ? call.call.arguments
        : message.kind === 'reply'
          ? (params?.arguments ?? {})
          : (own('arguments') ?? {}),
    meta: message.kind === 'reply' ? (params?._meta ?? {}) : (own('_meta') ?? {}),
  };
  // The id of an answer is the text of the request's own.
  if (JSON.stringify(JSON.parse(idText(text))) !== JSON.stringify(message.id)) return { gate, upstream: idText(text) };
  return { gate, upstream };
}

describe(`${BODIES} mutated messages`, () => {
  it('crash nothing, hang nothing, and what is accepted is what the upstream reads [CANON-1] [CANON-8] [BYPASS-4]', () => {
    const next = mutations(MESSAGE_SEEDS, 20_261_201);
    const accepted = { messages: 0, calls: 0 };
    for (let times = 0; times < BODIES; times += 1) {
      const text = next();
      const sinceMs = performance.now();
      const seen = views(text);
      if (performance.now() - sinceMs > SLOWEST_MS) throw new Error(`slow: ${JSON.stringify(text)}`);
      if (seen === null) continue;
      accepted.messages += 1;
      if (text.includes('tools/call')) accepted.calls += 1;
      // Compared as text first: a matcher for each would take minutes.
      if (JSON.stringify(seen.gate) !== JSON.stringify(seen.upstream)) {
        expect({ text, ...(seen.gate as object) }).toEqual({ text, ...(seen.upstream as object) });
      }
    }
    // The mutations are neither all broken nor all harmless.
    expect(accepted.messages).toBeGreaterThan(BODIES / 20);
    expect(accepted.messages).toBeLessThan((BODIES * 3) / 4);
    expect(accepted.calls).toBeGreaterThan(BODIES / 100);
  });

  it('and the seeds themselves are accepted, but for the batch [BYPASS-2]', () => {
    expect(MESSAGE_SEEDS.map((text) => readMessage(text).ok).filter((ok) => !ok)).toEqual([false]);
  });

  it.each([
    ['brackets', (depth: number) => '['.repeat(depth)],
    ['objects', (depth: number) => '{"a":'.repeat(depth)],
    [
      'closed brackets in arguments',
      (depth: number) =>
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":${'['.repeat(depth)}${']'.repeat(depth)}}}}`,
    ],
    ['strings that do not end', (depth: number) => `"${'\\'.repeat(depth)}`],
    ['names', (depth: number) => `{${Array.from({ length: depth }, (_, at) => `"a${at}":1`).join()}}`],
    ['digits', (depth: number) => `{"a":${'1'.repeat(depth)}}`],
    ['blanks', (depth: number) => `{${' '.repeat(depth)}`],
  ])('300,000 %s are refused in time [CANON-8]', (_what, textOf) => {
    const text = textOf(300_000);
    const sinceMs = performance.now();
    expect(text.length).toBeLessThan(4_194_304);
    expect(readMessage(text).ok).toBe(false);
    expect(performance.now() - sinceMs).toBeLessThan(5_000);
  });
});
