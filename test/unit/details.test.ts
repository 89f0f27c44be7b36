import { open } from '../../core/call';
import { createDetails, detailsOf } from '../../workflows/details';
import { newTurn, take, type Turn } from '../../workflows/turn-state';

const schedule = { escalate: [], deadline: { afterMs: 60_000, then: 'expire', remindEveryMs: null } } as const;

function detailsWith(sql: string): string {
  return detailsOf(turnWith(sql, 1));
}

function turnWith(sql: string, count: number, more = {}): Turn {
  const call = { id: 'c1', server: 'orders-db', tool: 'apply_migration', arguments: { sql } };
  const requester = { subject: 'u1', agent: 'bot', chain: [] };
  const turn = newTurn('w1', { v: 1, turnId: 't1', requester, calls: Array(count).fill(call) });
  const life = open({ revision: 1, digest: 'd1', schedule }, 0);
  const material = [{ name: 'statement', as: 'sql', from: 'arguments', at: '/sql', found: true, value: sql }];
  const request = {
    shortId: 'AAAABBBB',
    ...life,
    deadlineAtMs: 60_000,
    requester,
    server: 'orders-db',
    tool: 'apply_migration',
    material,
    ask: { ...schedule, steps: [], ...more },
  };
  for (const each of turn.calls) {
    take(turn, each, { status: 'pending', request: request as never, level: 0, dueAtMs: 60_000 });
  }
  return turn;
}

test('the details name the request, its deadline and its material facts [SCREEN-2]', () => {
  const details = detailsWith('ADD COLUMN note');
  expect(details).toContain('**AAAABBBB** waits for approval');
  expect(details).toContain('until 1970-01-01T00:01:00.000Z, then it expires, not executed');
  expect(details).toContain('`"ADD COLUMN note"`');
});

test('the details say what the rules ask of a sign-in', () => {
  const signIn = { withinMs: 300_000, acr: ['phr'] };
  const details = detailsOf(turnWith('x', 1, { signIn }));
  expect(details).toContain('allowing needs a sign-in of the last 5 min, by the authentication class phr');
});

test('what hides in a value is an escape, once, as on the card [SCREEN-2]', () => {
  expect(detailsWith('a\u202eb\u001b\n"⟦`')).toContain('`` "a⟦U+202E⟧b⟦U+001B⟧\\n\\"⟦U+27E6⟧`" ``');
});

test('a text that does not fit is left out whole, never cut inside its code span [SCREEN-6]', () => {
  const details = detailsWith(`${'x'.repeat(20_000)} [click](http://evil.example)`);
  expect(details).not.toContain('xxx');
  expect(details).not.toContain('evil.example');
  expect(details).toContain('holdpoint show');
  expect(details.length).toBeLessThan(20_000);
});

test('50 requests of 20,000 characters that are each an escape cost a task no time [SCREEN-6]', () => {
  const turn = turnWith('\u200b'.repeat(20_000), 50);
  const startMs = performance.now();
  const details = detailsOf(turn);
  expect(performance.now() - startMs).toBeLessThan(500);
  expect(details).toContain('(20002 characters: `holdpoint show` has them)');
  expect(details).not.toContain('U+200B');
});

test('many requests fill the details, and leave the rest to the card', () => {
  const details = detailsOf(turnWith('\u200b'.repeat(900), 50));
  expect(details.length).toBeLessThan(16_200);
  expect(details).toMatch(/holdpoint show` has it all\.\*\*$/);
});

test('the details follow each change of a call', () => {
  const turn = turnWith('ADD COLUMN note', 1);
  const details = createDetails(turn);
  expect(details()).toContain('**pending**');
  take(turn, turn.calls[0]!, { status: 'allowed', revision: 1 });
  expect(details()).toContain('**allowed**');
});
