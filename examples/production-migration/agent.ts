import { randomUUID } from 'node:crypto';
import { connect, type ApprovalRequest } from '../../client';

/** What a model's reply looks like to this program: the calls that it proposes together. */
const reply = {
  toolCalls: [
    { id: 'c1', name: 'read_rows', input: { environment: 'production', table: 'orders', limit: 3 } },
    {
      id: 'c2',
      name: 'apply_migration',
      input: { environment: 'production', sql: 'ALTER TABLE orders DROP COLUMN legacy_note' },
    },
  ],
};

function show({ shortId, server, tool }: ApprovalRequest): void {
  console.log(`${server} / ${tool} waits for people: holdpoint show ${shortId}`);
}

/** An agent runtime, as the README has it: `node dist/examples/production-migration/agent.js` beside `holdpoint dev`. */
async function main(turnId: string): Promise<void> {
  const holdpoint = await connect();
  const turn = await holdpoint.startTurn({
    id: turnId,
    requester: { subject: 'user:amira', agent: 'support-bot' },
    calls: reply.toolCalls.map((call) => ({
      id: call.id,
      server: 'orders-db',
      tool: call.name,
      arguments: call.input,
    })),
  });
  for await (const event of turn.events()) if (event.type === 'approvalRequired') show(event.request);
  const messages = [];
  for (const result of await turn.results())
    messages.push({
      role: 'tool',
      toolCallId: result.callId,
      content: result.textForModel,
      isError: result.outcome !== 'executed',
    });
  console.log(JSON.stringify(messages, null, 2));
  await holdpoint.close();
}

main(process.argv[2] ?? randomUUID()).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
