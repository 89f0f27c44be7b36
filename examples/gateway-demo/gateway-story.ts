import { createPublicKey } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CallToolResultSchema, type CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { cardText } from '../../cli/card';
import type { Paint } from '../../cli/paint';
import { brief, count, gutter, safe, safeBlock } from '../../cli/text';
import { pendingApproval, type ApprovalRequest } from '../../client';
import { APPROVAL_META_KEY } from '../../client/pending-approval';
import { memberOf } from '../../core/member';
import { verifyAudit } from '../../ledger/audit-verify';
import { decisionsOn, factsOf, ledgerCounts, listRequests, operationRecord, revisionsOf } from '../../ledger/queries';
import { askPerson, hasPerson } from '../production-migration/ask-person';
import { eventually, mustHold } from '../production-migration/demo-world';
import { decideAs, type GatewayWorld } from './gateway-world';

/** What the story prints with. */
export interface Page {
  readonly paint: Paint;
  readonly say: (text: string) => void;
}

interface Scene extends Page {
  readonly world: GatewayWorld;
}

/** The whole story. Each line is read back from an answer to the client, the ledger, or the folder on disk. */
export async function tellGatewayStory(world: GatewayWorld, page: Page): Promise<void> {
  const scene = { ...page, world };
  await readsRun(scene);
  if (await writeWaits(scene)) await denialIsAnError(scene);
  else scene.say('\nYou denied it, so the story ends here: a denial is a full answer.');
  await auditHolds(scene);
}

function heading({ paint, say }: Scene, text: string): void {
  say(`\n${paint.bold(text)}`);
}

async function readsRun(scene: Scene): Promise<void> {
  const { world, say } = scene;
  heading(scene, '1  A client of MCP connects, lists the tools, and reads');
  const version = world.client.getServerVersion();
  say(`   ${world.endpoint}: ${safe(version?.name ?? '')} ${safe(version?.version ?? '')}`);
  const { tools } = await world.client.listTools();
  say(`   ${count(tools.length, 'tool')}: ${tools.map(({ name }) => safe(name)).join(', ')}`);
  sayResult(scene, 'list_directory', await call(world, 'list_directory', { path: world.notes }));
  const plan = await call(world, 'read_text_file', { path: join(world.notes, 'plan.txt') });
  sayResult(scene, 'read_text_file', plan);
  const { requests, operations } = await recorded(world);
  say(`   on record: ${count(requests, 'approval request')}, ${count(operations, 'operation')}, since no rule asks`);
  mustHold('reads ask nobody', isPlain(plan) && requests === 0 && operations === 0);
}

/** False where the person at the terminal has denied it. */
async function writeWaits(scene: Scene): Promise<boolean> {
  const { world, say } = scene;
  const file = 'invitation.txt';
  const write = () =>
    call(world, 'write_file', { path: join(world.notes, file), content: 'Cake on Friday, at four.\n' });
  heading(scene, '2  It writes a file: a rule asks, so the answer is "pending", and nothing is written');
  const pending = await write();
  sayResult(scene, 'write_file', pending);
  const waiting = pendingApproval(pending);
  await sayFolder(scene);
  mustHold('the call is pending and wrote nothing', waiting?.status === 'pending' && !(await isThere(world, file)));

  heading(scene, `3  ${safe(world.stack.reviewer.name)} reads what would run, and decides`);
  const request = await openRequest(world, waiting?.operationId ?? '');
  await sayCard(scene, request);
  const answer = await review(scene, request, { answer: 'allow' });

  heading(scene, '4  The client makes the same call again');
  const result = await write();
  sayResult(scene, 'write_file', result);
  await sayFolder(scene);
  if (answer === 'deny') {
    mustHold('the denied call wrote nothing', statusOf(result) === 'denied' && !(await isThere(world, file)));
    return false;
  }
  mustHold('the approved call wrote the file', statusOf(result) === 'approved' && (await isThere(world, file)));
  await sayProof(scene, request.operationId);

  heading(scene, '5  And once more: it gets the same result, and the file is not written again');
  const before = await writtenAt(world, file);
  const again = await write();
  sayResult(scene, 'write_file', again);
  const after = await writtenAt(world, file);
  const sent = await timesSent(world, request.operationId);
  say(
    `   ${file} was last changed at ${after}; before this call it was ${before}; sent to the server: ${count(sent, 'time')}`,
  );
  mustHold('the file was written once', before === after && sent === 1);
  return true;
}

async function denialIsAnError(scene: Scene): Promise<void> {
  const { world, say } = scene;
  const write = () => call(world, 'write_file', { path: join(world.notes, 'plan.txt'), content: 'No cake.\n' });
  heading(scene, '6  It wants to overwrite plan.txt, and the reviewer denies that');
  const pending = await write();
  sayResult(scene, 'write_file', pending);
  const request = await openRequest(world, pendingApproval(pending)?.operationId ?? '');
  const answer = await review(scene, request, { answer: 'deny', reason: 'the plan stays as it is; write a new file' });
  const end = await write();
  sayResult(scene, 'write_file', end);
  const plan = await readFile(join(world.notes, 'plan.txt'), 'utf8');
  say(`   plan.txt on disk: ${safe(plan.trim())}`);
  const wasDenied = statusOf(end) === 'denied' && end.isError === true && plan === 'Order the cake on Friday.\n';
  mustHold('a denial is an error and changes nothing', answer === 'allow' || wasDenied);
}

async function call({ client }: GatewayWorld, name: string, given: Record<string, string>): Promise<CallToolResult> {
  return client.request({ method: 'tools/call', params: { name, arguments: given } }, CallToolResultSchema);
}

function isPlain(result: CallToolResult): boolean {
  return result.isError !== true && statusOf(result) === null;
}

function approvalOf(result: CallToolResult): unknown {
  return memberOf(result._meta, APPROVAL_META_KEY);
}

function statusOf(result: CallToolResult): string | null {
  const status = memberOf(approvalOf(result), 'status');
  return typeof status === 'string' ? status : null;
}

/** What the model gets to read, and what the client gets beside it. */
function sayResult({ say, paint }: Scene, tool: string, result: CallToolResult): void {
  const text = result.content.map((block) => (block.type === 'text' ? block.text : block.type)).join('\n');
  say(`   ${paint.bold(tool)}${result.isError === true ? paint.red('  isError: true') : ''}`);
  say(gutter(safeBlock(text), '     '));
  const approval = approvalOf(result);
  if (approval === undefined) return;
  const rows = ['status', 'operationId', 'rule', 'permittedRule', 'grantId', 'verified', 'replayed']
    .map((name) => [name, memberOf(approval, name)] as const)
    .filter(([, value]) => value !== undefined && value !== null);
  const facts = rows.map(([name, value]) => `${name} ${factText(value)}`);
  say(`     _meta["${APPROVAL_META_KEY}"]: ${facts.join(', ')}`);
}

/** A rule is named by its id and the beginning of its version. */
function factText(value: unknown): string {
  const [id, version] = [memberOf(value, 'id'), memberOf(value, 'version')];
  if (typeof id === 'string' && typeof version === 'string') return `${safe(id)} @ ${brief(version)}`;
  return safe(String(value));
}

async function recorded({ ledger }: GatewayWorld): Promise<{ requests: number; operations: number }> {
  const { requests, operations } = await ledgerCounts(ledger.store.db, await ledger.store.nowMs(), null);
  const sum = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((all, each) => all + each, 0);
  return { requests: sum(requests), operations: sum(operations) };
}

async function openRequest({ ledger }: GatewayWorld, operationId: string): Promise<ApprovalRequest> {
  return eventually('the approval request', async () => {
    const open = await listRequests(ledger.store.db);
    return open.find(({ request }) => request.operationId === operationId)?.request;
  });
}

async function sayCard({ world, say, paint }: Scene, request: ApprovalRequest): Promise<void> {
  const { store } = world.ledger;
  const [record] = await revisionsOf(store.db, request.operationId);
  if (record === undefined) throw new Error('the demo lost its approval request');
  const active = await world.ledger.activePolicy();
  const [policy, trust] = [active?.policy ?? null, active?.trust ?? null];
  const card = cardText({ ...record, decisions: [], policy, trust, nowMs: await store.nowMs() }, paint);
  say(card.replace(/^/gm, '   '));
}

interface Given {
  /** What the demo's reviewer answers where nobody sits at the terminal. */
  readonly answer: 'allow' | 'deny';
  readonly reason?: string;
}

async function review(
  { world, say }: Scene,
  request: ApprovalRequest,
  { answer, reason }: Given,
): Promise<'allow' | 'deny'> {
  const given = hasPerson() ? await askPerson(`   ${request.shortId}: your decision?`) : answer;
  const isOwn = given === answer && reason !== undefined;
  const verdict = await decideAs(world, request, { answer: given, ...(isOwn && { reason }) });
  const [decision] = await decisionsOn(world.ledger.store.db, request.operationId);
  mustHold('the decision counts', verdict.code === 'accepted' && decision !== undefined);
  const why = decision?.reason === null || decision === undefined ? '' : `: ${safe(JSON.stringify(decision.reason))}`;
  say(
    `   on record: ${decision?.answer ?? ''} by ${safe(decision?.reviewer ?? '')}, ${decision?.verified === true ? 'signature verified' : 'UNVERIFIED'}${why}`,
  );
  return given;
}

async function sayFolder({ world, say }: Scene): Promise<void> {
  say(`   the folder on disk: ${(await readdir(world.notes)).sort().map(safe).join(', ')}`);
}

async function isThere({ notes }: GatewayWorld, file: string): Promise<boolean> {
  return (await readdir(notes)).includes(file);
}

async function writtenAt({ notes }: GatewayWorld, file: string): Promise<string> {
  return (await stat(join(notes, file))).mtime.toISOString();
}

/** How often the operation went to its server, by the ledger, which records that before the first byte. */
async function timesSent({ ledger }: GatewayWorld, operationId: string): Promise<number> {
  const facts = await factsOf(ledger.store.db, operationId);
  return facts.filter(({ kind }) => kind === 'operation.dispatched').length;
}

async function sayProof({ world, say }: Scene, operationId: string): Promise<void> {
  const operation = await operationRecord(world.ledger.store.db, operationId);
  const { approval = null, state = '', attempt = 0 } = operation ?? {};
  say(`   on record: ${operationId} ${state}, attempt ${attempt}`);
  say(
    `   allowed by ${approval?.deciders.map(safe).join(', ') ?? ''}${approval?.verified === true ? ', signed' : ''}; asked by rule ${factText(approval?.askedRule)}, permitted by rule ${factText(approval?.permittedRule)}`,
  );
}

async function auditHolds({ world, say }: Scene): Promise<void> {
  const publicKeys = [createPublicKey(await readFile(world.stack.dev.permitKeyFile, 'utf8'))];
  const report = await verifyAudit(world.ledger.store, { publicKeys });
  mustHold('the audit holds', report.ok);
  say(
    `\n   the audit holds: ${count(report.records, 'record')} in one hash chain, ${count(report.checkpoints.signed, 'signed checkpoint')}`,
  );
}
