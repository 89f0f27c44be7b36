import { createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ApprovalRequest, Turn } from '../../client';
import { cardText } from '../../cli/card';
import { EXAMPLE_TURN_FILE } from '../../cli/dev/example';
import { processIo } from '../../cli/io';
import type { Paint } from '../../cli/paint';
import { readTurn } from '../../cli/read-turn';
import { brief, count, gutter, safe, safeBlock } from '../../cli/text';
import { verifyAudit } from '../../ledger/audit-verify';
import {
  decisionsOn,
  factsOf,
  operationRecord,
  revisionsOf,
  type OperationRecord,
  type RequestRecord,
} from '../../ledger/queries';
import { askPerson, hasPerson } from './ask-person';
import { appliedMigrations, changeByHand, columnsOf, receivedCalls, schemaVersion } from './demo-records';
import { decide, eventually, mustHold, setFault, type World } from './demo-world';

/** What the story prints with. */
export interface Page {
  readonly paint: Paint;
  readonly say: (text: string) => void;
}

interface Scene extends Page {
  readonly world: World;
}

/** The whole story. Each line is read back from the ledger, the tool server's own log, or its database. */
export async function tellStory(world: World, page: Page): Promise<void> {
  const scene = { ...page, world };
  const allowed = await mainStory(scene);
  if (allowed) await schemaMoves(scene);
  else scene.say('\nYou denied it, so the story ends here: a denial is a full answer.');
  await auditHolds(scene);
}

function heading({ paint, say }: Scene, text: string): void {
  say(`\n${paint.bold(text)}`);
}

async function mainStory(scene: Scene): Promise<boolean> {
  const { world, say } = scene;
  heading(scene, '1  The agent proposes a read and a destructive migration');
  const turn = await startTurn(world, { id: 'demo-1' });
  const operations = await idsOf(turn);
  const read = await ended(world, operations[0]);
  const request = await openRevision(world, operations[1], 1);
  say(
    `   turn ${safe(request.turnId)}, for ${safe(request.requester.subject)} through ${safe(request.requester.agent)}`,
  );
  say(`   c1  ${outcomeText(read)}`);
  say(`   c2  ${safe(request.server)} / ${safe(request.tool)}: waits, and nothing was sent (${request.shortId})`);
  sayDatabase(scene);

  heading(scene, `2  ${safe(world.stack.dev.reviewer.name)} reads what would run`);
  await setFault(world, 'commitThenSilent');
  if ((await review(scene, request, { answer: 'allow' })) === 'deny') {
    await sayResults(scene, turn);
    sayDatabase(scene);
    return false;
  }

  heading(scene, '4  The tool server commits, then goes silent; Holdpoint looks the operation up');
  await sayLookUp(scene, await ended(world, request.operationId));
  await sayResults(scene, turn);

  heading(scene, '5  One applied migration, and who allowed it under which rules');
  await sayProof(scene, request);
  return true;
}

async function schemaMoves(scene: Scene): Promise<void> {
  const { world, say, paint } = scene;
  heading(scene, '6  Another turn: the schema moves after the approval');
  const sql = 'CREATE INDEX orders_by_status ON orders (status)';
  const turn = await startTurn(world, { id: 'demo-2', sql });
  const [id] = await idsOf(turn);
  const first = await openRevision(world, id, 1);
  const sent = (await receivedCalls(world, 'apply_migration')).length;
  // The tool server is held still, so that its schema can move exactly between the approval and the re-check.
  const server = world.stack.example?.pid ?? 0;
  process.kill(server, 'SIGSTOP');
  try {
    if ((await review(scene, first, { answer: 'allow', brief: true })) === 'deny') {
      process.kill(server, 'SIGCONT');
      await sayResults(scene, turn);
      return;
    }
    changeByHand(world, 'ALTER TABLE customers ADD COLUMN phone TEXT', schemaVersion(world) + 1);
  } finally {
    process.kill(server, 'SIGCONT');
  }
  const second = await openRevision(world, id, 2);
  const [stale] = (await factsOf(world.ledger.store.db, id)).filter(({ kind }) => kind === 'request.stale');
  say(
    `   on record: ${safe(stale?.kind ?? '')} (${safe(JSON.stringify(stale?.body['cause']))}); revision 2 is open as ${second.shortId}`,
  );
  say(
    `   schema version ${paint.bold(JSON.stringify(second.resourceVersion))}, it was ${JSON.stringify(second.previousResourceVersion)} when it was approved`,
  );
  const operation = await operationRecord(world.ledger.store.db, id);
  const since = (await receivedCalls(world, 'apply_migration')).length - sent;
  say(
    `   operations sent: ${operation === null ? 'none' : operation.state}; migrations that the tool server received since: ${since}`,
  );
  mustHold('nothing ran on the outdated approval', operation === null && since === 0);

  heading(scene, '7  The request is back with its reviewer, who denies it');
  await review(scene, second, { answer: 'deny', reason: 'the schema has moved: plan it again', brief: true });
  await sayResults(scene, turn);
  sayDatabase(scene);
}

async function startTurn({ stack, holdpoint }: World, { id, sql }: { id: string; sql?: string }): Promise<Turn> {
  const place = { kind: 'dev', stateDir: '', dev: stack.dev, ledgerUrl: null } as const;
  const { requester, calls } = await readTurn(processIo(), place, EXAMPLE_TURN_FILE);
  if (sql === undefined) return holdpoint.startTurn({ id, requester, calls });
  const call = {
    id: 'c1',
    server: 'orders-db',
    tool: 'apply_migration',
    arguments: { environment: 'production', sql },
  };
  return holdpoint.startTurn({ id, requester, calls: [call] });
}

/** The operation ids of a turn's calls, in call order. */
async function idsOf(turn: Turn): Promise<readonly [string, string]> {
  const [first = '', second = ''] = (await turn.snapshot()).calls.map((call) => call.operationId);
  return [first, second];
}

async function openRevision({ ledger }: World, id: string, revision: number): Promise<ApprovalRequest> {
  const read = async (): Promise<ApprovalRequest | undefined> =>
    (await revisionsOf(ledger.store.db, id)).find(
      ({ request, standing }) => request.revision === revision && standing.state === 'pending',
    )?.request;
  return eventually(`revision ${revision} of an approval request`, read);
}

async function ended({ ledger }: World, id: string): Promise<OperationRecord> {
  return eventually('an outcome', async () => {
    const operation = await operationRecord(ledger.store.db, id);
    return operation === null || operation.endedAtMs === null ? null : operation;
  });
}

interface Reviewing {
  /** What the demo's reviewer answers where nobody sits at the terminal. */
  readonly answer: 'allow' | 'deny';
  readonly reason?: string;
  /** Without the whole card, which was shown once. */
  readonly brief?: boolean;
}

async function review(
  scene: Scene,
  request: ApprovalRequest,
  { answer, reason, brief: isBrief = false }: Reviewing,
): Promise<'allow' | 'deny'> {
  const { world, say, paint } = scene;
  const { store } = world.ledger;
  if (isBrief) say(`   ${request.shortId}  ${materialText(request)}`);
  else {
    const record = await recordOf(world, request);
    const active = await world.ledger.activePolicy();
    const [policy, trust] = [active?.policy ?? null, active?.trust ?? null];
    const decisions = await decisionsOn(store.db, request.operationId);
    say(indent(cardText({ ...record, decisions, policy, trust, nowMs: await store.nowMs() }, paint)));
    heading(scene, '3  The decision');
  }
  const given = hasPerson() ? await askPerson('   Your decision?') : answer;
  const verdict = await decide(world, request, {
    answer: given,
    ...(reason !== undefined && given === answer && { reason }),
  });
  const [decision] = (await decisionsOn(store.db, request.operationId)).filter(
    ({ revision }) => revision === request.revision,
  );
  mustHold('the decision counts', verdict.code === 'accepted' && decision !== undefined);
  const why = decision?.reason === null || decision === undefined ? '' : `: ${safe(JSON.stringify(decision.reason))}`;
  say(
    `   on record: ${decision?.answer ?? ''} by ${safe(decision?.reviewer ?? '')}, ${decision?.verified === true ? 'signature verified' : 'UNVERIFIED'}${why}`,
  );
  return given;
}

async function recordOf({ ledger }: World, request: ApprovalRequest): Promise<RequestRecord> {
  const revisions = await revisionsOf(ledger.store.db, request.operationId);
  const found = revisions.find((record) => record.request.revision === request.revision);
  if (found === undefined) throw new Error('the demo lost its approval request');
  return found;
}

function materialText({ material }: ApprovalRequest): string {
  return material
    .map(({ name, value }) => `${safe(name)}: ${safe(typeof value === 'string' ? value : JSON.stringify(value))}`)
    .join(', ');
}

function outcomeText({ server, tool, state, approval }: OperationRecord): string {
  return `${safe(server)} / ${safe(tool)}: ${state}${approval === null ? ' at once, since no rule asks' : ''}`;
}

/** The tool server's own log beside Holdpoint's record, in the order of time. */
async function sayLookUp({ world, say }: Scene, operation: OperationRecord): Promise<void> {
  const { operationId: id } = operation;
  const facts = await factsOf(world.ledger.store.db, id);
  const recorded = facts.filter(({ kind }) => kind.startsWith('operation.'));
  const received = [
    ...(await receivedCalls(world, 'apply_migration')),
    ...(await receivedCalls(world, 'find_migration')),
  ];
  const own = received.filter((call) => call.arguments.operation_id === id);
  const lines = [
    ...recorded.map(({ atMs, kind, body }) => ({
      atMs,
      text: `ledger       ${safe(kind)}${typeof body['evidence'] === 'string' ? `, proven by ${body['evidence'] === 'lookUp' ? 'the look-up' : safe(body['evidence'])}` : ''}`,
    })),
    ...own.map(({ atMs, tool }) => ({ atMs, text: `tool server  received ${safe(tool)}` })),
  ].sort((a, b) => a.atMs - b.atMs);
  for (const { atMs, text } of lines) say(`   +${((atMs - operation.dispatchedAtMs) / 1_000).toFixed(1)} s  ${text}`);
  const migrations = own.filter(({ tool }) => tool === 'apply_migration').length;
  mustHold(
    'the outcome was looked up and the migration sent once',
    operation.evidence === 'lookUp' && migrations === 1,
  );
}

async function sayResults({ say }: Scene, turn: Turn): Promise<void> {
  const results = await turn.results();
  say('   what the model is told:');
  for (const { callId, outcome, textForModel } of results)
    say(`   ${safe(callId)}  ${outcome}\n${gutter(safeBlock(textForModel), '       ')}`);
}

function sayDatabase({ world, say }: Scene): void {
  const applied = appliedMigrations(world);
  say(
    `   the database: schema version ${schemaVersion(world)}, orders (${columnsOf(world, 'orders').map(safe).join(', ')}), ${count(applied.length, 'migration')} applied`,
  );
}

async function sayProof(scene: Scene, request: ApprovalRequest): Promise<void> {
  const { world, say } = scene;
  sayDatabase(scene);
  const applied = appliedMigrations(world);
  mustHold('the database has this one migration', applied.length === 1 && applied[0] === request.operationId);
  const operation = await ended(world, request.operationId);
  const { approval } = operation;
  say(`   operation ${operation.operationId}: ${operation.state}, attempt ${operation.attempt}`);
  say(`   allowed by ${approval?.deciders.map(safe).join(', ') ?? ''}${approval?.verified === true ? ', signed' : ''}`);
  say(`   asked by rule ${ruleText(approval?.askedRule)}, permitted by rule ${ruleText(approval?.permittedRule)}`);
}

function ruleText(rule: { readonly id: string; readonly version: string } | null | undefined): string {
  return rule === null || rule === undefined ? 'none' : `${safe(rule.id)} @ ${brief(rule.version)}`;
}

async function auditHolds(scene: Scene): Promise<void> {
  const { world, say } = scene;
  const { permitKeyFile } = world.stack.dev;
  const publicKeys = [createPublicKey(await readFile(permitKeyFile, 'utf8'))];
  const report = await verifyAudit(world.ledger.store, { publicKeys });
  mustHold('the audit holds', report.ok);
  say(
    `\n   the audit holds: ${count(report.records, 'record')} in one hash chain, ${count(report.checkpoints.signed, 'signed checkpoint')}`,
  );
}

function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => `   ${line}`)
    .join('\n');
}
