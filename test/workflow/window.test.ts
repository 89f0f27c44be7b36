import { parsePolicyFile } from '../../core/policy-file';
import { startHarness, type Harness } from '../support/harness';
import { policyText, type PolicyVariant } from '../support/policy-text';

const MINUTE = 60_000;
const WINDOW: Partial<PolicyVariant> = { validity: '{ minutes: 15 }', bind: 'material' };
const MIGRATION = {
  id: 'c1',
  server: 'orders-db',
  tool: 'apply_migration',
  arguments: { environment: 'production', sql: 'ADD COLUMN note' },
};

/** The standard policy with a window, and `edit` applied to its text. */
async function apply(harness: Harness, edit: (text: string) => string, variant = WINDOW): Promise<void> {
  const text = edit(policyText({ ...variant, url: harness.tools.url }));
  const parsed = parsePolicyFile(text, 'policy.yaml');
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  await harness.ledger.applyPolicy({ text, fileName: 'policy.yaml', policy: parsed.policy, by: 'test' });
}

describe('a live window', () => {
  let harness: Harness;
  let nowMs = Date.now();
  beforeAll(async () => {
    harness = await startHarness({ policy: WINDOW, clock: () => nowMs });
  }, 30_000);
  afterAll(() => harness.close());
  beforeEach(async () => {
    nowMs = Date.now();
    harness.tools.changeTool('apply_migration', {});
    await apply(harness, (text) => text);
    await revokeAll();
    const turn = await harness.start([MIGRATION]);
    const [request] = await harness.requests(turn);
    await harness.decide(request!, 'allow');
    expect((await turn.results())[0]?.outcome).toBe('executed');
  });

  async function revokeAll(): Promise<void> {
    const grants = await harness.store.db
      .selectFrom('grants')
      .select('grant_id')
      .where('revoked_at', 'is', null)
      .execute();
    for (const { grant_id: grantId } of grants)
      await harness.ledger.revokeGrant({ grantId, by: 'test', reason: 'next test' });
  }

  /** `executed` without asking, `asked`, or the code of a refusal. */
  async function sameCallAgain(change = {}): Promise<string> {
    const before = harness.tools.runsOf('apply_migration').length;
    const turn = await harness.start([{ ...MIGRATION, ...change }]);
    const { requiredActions } = await turn.snapshot();
    if (requiredActions.length > 0) {
      expect(harness.tools.runsOf('apply_migration')).toHaveLength(before);
      await turn.withdraw();
      return 'asked';
    }
    const [result] = await turn.results();
    expect(harness.tools.runsOf('apply_migration')).toHaveLength(result?.outcome === 'executed' ? before + 1 : before);
    return result?.end.outcome === 'refused' ? result.end.code : (result?.outcome ?? 'none');
  }

  test('covers the same bound fields under the same rule', async () => {
    expect(await sameCallAgain()).toBe('executed');
  });

  test('ends at its time', async () => {
    nowMs += 15 * MINUTE;
    expect(await sameCallAgain()).toBe('asked');
  });

  test('does not stand above access: the requester lost it [WHO-08]', async () => {
    await apply(harness, (text) => text.replace('group:platform', 'someone-else'));
    expect(await sameCallAgain()).toBe('ACCESS_DENIED');
  });

  test('does not stand above access: the agent alone lost it', async () => {
    await apply(harness, (text) => text.replace(`agents: ['*']`, `agents: ['another-bot']`));
    expect(await sameCallAgain()).toBe('ACCESS_DENIED');
  });

  test('ends with the tool disabled', async () => {
    await apply(harness, (text) => text.replace('apply_migration:\n', 'apply_migration:\n        enabled: false\n'));
    expect(await sameCallAgain()).toBe('TOOL_DISABLED');
  });

  test('ends with a changed rule', async () => {
    await apply(harness, (text) => text, { ...WINDOW, quorum: 2 });
    expect(await sameCallAgain()).toBe('asked');
  });

  test('survives a changed comment of the policy [WHO-14]', async () => {
    await apply(harness, (text) => `# a comment\n${text}`);
    expect(await sameCallAgain()).toBe('executed');
  });

  test('ends where the target crosses a threshold of another rule', async () => {
    const crossing = (text: string): string =>
      text
        .replace(
          '          statement: { at: /sql, as: sql }',
          '          statement: { at: /sql, as: sql }\n          rows: { from: state, at: /structuredContent/version, as: number }',
        )
        .replace(
          '        reversible: with-effort',
          '        state: { tool: schema_version, arguments: { environment: { at: /environment } } }\n        reversible: with-effort',
        )
        .concat(
          `  - id: large\n    server: orders-db\n    scope: { tools: [apply_migration] }\n    when: { rows: { atLeast: 100 } }\n    approvers: { groups: [dba] }\n    validity: once\n`,
        )
        .replace(/        version: .*\n/, '');
    await apply(harness, crossing);
    const turn = await harness.start([MIGRATION]);
    const [request] = await harness.requests(turn);
    await harness.decide(request!, 'allow');
    await turn.results();
    expect(await sameCallAgain()).toBe('executed');
    harness.tools.setVersion(100);
    expect(await sameCallAgain()).toBe('asked');
    harness.tools.setVersion(7);
  });

  test('ends with a changed resource', async () => {
    harness.tools.setVersion(8);
    expect(await sameCallAgain()).toBe('asked');
    harness.tools.setVersion(7);
  });

  test('ends with a changed definition of the tool [BIND-11]', async () => {
    harness.tools.changeTool('apply_migration', { description: 'Now also deletes.' });
    expect(await sameCallAgain()).toBe('asked');
  });

  test('ends when it is revoked', async () => {
    await revokeAll();
    expect(await sameCallAgain()).toBe('asked');
  });

  test('ends when its reviewer leaves the group', async () => {
    await apply(harness, (text) => text.replace('r1: { groups: [dba] }', 'r1: { groups: [dba-leads] }'));
    expect(await sameCallAgain()).toBe('asked');
  });

  test('does not cover other bound fields, nor another requester [WHO-05] [SWAP-9]', async () => {
    expect(await sameCallAgain({ arguments: { environment: 'production', sql: 'DROP TABLE orders' } })).toBe('asked');
    const turn = await harness.start([MIGRATION], { requester: { subject: 'u2', agent: 'bot', chain: [] } });
    expect((await turn.snapshot()).requiredActions).toHaveLength(1);
    await turn.withdraw();
  });
});
