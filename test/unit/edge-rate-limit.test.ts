import type { Requester } from '../../core/requester';
import { createRateLimit } from '../../gateway/edge/rate-limit';

const requester = (subject: string, agent = 'bot'): Requester => ({ subject, agent, chain: [] });

describe('the rate limit', () => {
  it('takes a minute of messages at once, and then one whenever one has become free', () => {
    let nowMs = 0;
    const limit = createRateLimit({ messagesPerMinute: 3, nowMs: () => nowMs });
    const sent = () => limit(requester('user:amira'));
    expect([sent(), sent(), sent()]).toEqual([{ ok: true }, { ok: true }, { ok: true }]);
    expect(sent()).toEqual({ ok: false, retryAfterMs: 20_000 });
    nowMs = 19_999;
    expect(sent()).toEqual({ ok: false, retryAfterMs: 1 });
    nowMs = 20_000;
    expect(sent()).toEqual({ ok: true });
    expect(sent()).toEqual({ ok: false, retryAfterMs: 20_000 });
  });

  it('saves no more than a minute of messages', () => {
    let nowMs = 0;
    const limit = createRateLimit({ messagesPerMinute: 2, nowMs: () => nowMs });
    limit(requester('user:amira'));
    nowMs = 3_600_000;
    const taken = Array.from({ length: 4 }, () => limit(requester('user:amira')).ok);
    expect(taken).toEqual([true, true, false, false]);
  });

  it('counts each subject and agent by itself, and a chain not', () => {
    const limit = createRateLimit({ messagesPerMinute: 1, nowMs: () => 0 });
    expect(limit(requester('user:amira')).ok).toBe(true);
    expect(limit(requester('user:ben')).ok).toBe(true);
    expect(limit(requester('user:amira', 'other-bot')).ok).toBe(true);
    expect(limit({ ...requester('user:amira'), chain: ['user:amira', 'bot'] }).ok).toBe(false);
  });

  it('remembers no more requesters than it may, and those that sent last', () => {
    const limit = createRateLimit({ messagesPerMinute: 1, nowMs: () => 0, maxRequesters: 2 });
    limit(requester('a'));
    limit(requester('b'));
    expect(limit(requester('a')).ok).toBe(false);
    limit(requester('c'));
    expect(limit(requester('a')).ok).toBe(false);
    expect(limit(requester('b')).ok).toBe(true);
  });
});
