import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ORDERS_POLICY, edited, policyOf, problemsOf } from '../support/policy-fixture';

const docs = readFileSync(join(__dirname, '../../docs/policy.md'), 'utf8');

test('the worked example of the documentation is a valid policy', () => {
  const policy = policyOf(/```yaml\n([\s\S]*?)```/.exec(docs)?.[1] ?? '');
  expect(policy.rules.map((rule) => rule.id)).toEqual(['production-migrations', 'anything-dangerous', 'refunds']);
});

describe('the documentation names every key', () => {
  const marked = new Set(
    [...docs.replace(/```[\s\S]*?```/g, '').matchAll(/`([^`\n]+)`/g)].flatMap(([, code]) => code?.match(/\w+/g) ?? []),
  );

  test.each([
    { of: 'the file', edits: [['people:\n', 'nothing: 1\npeople:\n']] },
    { of: 'the console', edits: [['people:\n', 'console: { nothing: 1 }\npeople:\n']] },
    { of: 'a person', edits: [['dana: { ', 'dana: { nothing: 1, ']] },
    { of: 'a server', edits: [['    tools:\n', '    nothing: 1\n    tools:\n']] },
    { of: 'HTTP', edits: [['http: { ', 'http: { nothing: 1, ']] },
    { of: 'stdio', edits: [['http: { url', 'stdio: { nothing: 1, url']] },
    { of: 'a tool', edits: [['timeout: 30s', 'nothing: 1']] },
    { of: 'material', edits: [['as: text }', 'as: text, nothing: 1 }']] },
    { of: 'version', edits: [['version: { ', 'version: { nothing: 1, ']] },
    { of: 'preview', edits: [['preview: { ', 'preview: { nothing: 1, ']] },
    { of: 'state', edits: [['state: { ', 'state: { nothing: 1, ']] },
    { of: 'an outcome', edits: [['outcome: { ', 'outcome: { nothing: 1, ']] },
    { of: 'executed', edits: [['executed: { ', 'executed: { nothing: 1, ']] },
    { of: 'SQL', edits: [['outcome: { ', 'outcome: { sql: { nothing: 1 }, ']] },
    { of: 'access', edits: [['- { subjects', '- { nothing: 1, subjects']] },
    { of: 'a rule', edits: [['    bind: material', '    nothing: 1']] },
    { of: 'a condition', edits: [['is: production', 'nothing: 1']] },
    { of: 'approvers', edits: [['approvers: { ', 'approvers: { nothing: 1, ']] },
    { of: 'a window', edits: [['validity: once', 'validity: { nothing: 1 }']] },
    { of: 'an escalation', edits: [['escalate: [ { ', 'escalate: [ { nothing: 1, ']] },
    { of: 'a deadline', edits: [['deadline: { ', 'deadline: { nothing: 1, ']] },
  ] as { of: string; edits: [string, string][] }[])('of $of', ({ edits }) => {
    const unknown = problemsOf(edited(ORDERS_POLICY, ...edits)).find((problem) =>
      problem.includes('nothing is not a key'),
    );
    const allowed =
      /allowed: ([^[]*)/
        .exec(unknown ?? '')?.[1]
        ?.trim()
        .split(', ') ?? [];
    expect(allowed.length).toBeGreaterThan(0);
    expect(allowed.filter((key) => !marked.has(key))).toEqual([]);
  });
});
