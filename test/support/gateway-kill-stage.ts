import { dirname, join } from 'node:path';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { pendingApproval } from '../../client';
import type { ApprovalRequest } from '../../core/request';
import type { EdgeSettings } from '../../gateway/edge/settings';
import type { RunningGateway } from '../../gateway/start-gateway';
import { verifyAudit } from '../../ledger/audit-verify';
import type { Child } from '../../worker/child-process';
import { eventually } from './eventually';
import type { GatewayTold } from './gateway-child';
import { openRequests } from './gateway-rows';
import { approvalOf, callTool, textOf, type GatewayStage } from './gateway-stage';
import { startScript } from './stage';
import { snapshotQuery } from '../../workflows/messages';

export interface GatewayProcess {
  readonly child: Child;
  /** As `stage.client` and others want it. */
  readonly gateway: RunningGateway;
}

export interface GatewayProcessChoice {
  readonly edge?: Partial<EdgeSettings>;
  readonly at?: GatewayTold['at'];
  /** Another Temporal server or ledger than the stage's. */
  readonly settings?: Partial<Omit<GatewayTold['settings'], 'secretsKey'>>;
}

const EDGE: Omit<EdgeSettings, 'tokensFile'> = {
  host: '127.0.0.1',
  port: 0,
  publicUrl: null,
  hosts: [],
  origins: [],
  oauth: null,
  messagesPerMinute: 1_000_000,
  waitForMs: 20_000,
  sessionIdleMs: 60_000,
  sessionsPerRequester: 50,
};

const started = new Set<Child>();

/** Kills every gateway process that these tests have started. */
export async function endGatewayProcesses(): Promise<void> {
  await Promise.all([...started].map((child) => child.kill9()));
  started.clear();
}

/** Waits until a gateway process has killed itself at the step that it was told. */
export async function killedItself({ child }: GatewayProcess): Promise<void> {
  if ((await child.waitForLine(/^SIGKILL at /, 30_000)) === undefined) {
    throw new Error(`the gateway process reached no step: ${child.recentOutput()}`);
  }
  await child.exited;
}

/** A gateway in a process of its own, in front of the Temporal server and the ledger of a stage. */
export async function startGatewayProcess(
  stage: Pick<GatewayStage, 'settings'>,
  { edge, at, settings }: GatewayProcessChoice = {},
): Promise<GatewayProcess> {
  const tokensFile = join(dirname(stage.settings.permitKeyFile), 'tokens.json');
  const secretsKey = Buffer.from(stage.settings.secretsKey ?? []).toString('hex');
  const told: GatewayTold = {
    settings: { ...stage.settings, ...settings, secretsKey },
    edge: { ...EDGE, tokensFile, ...edge },
    ...(at === undefined ? {} : { at }),
  };
  const child = await startScript('gateway-child.ts', told);
  started.add(child);
  const ready = await child.waitForLine(/^ready /, 60_000);
  if (ready === undefined) throw new Error(`the gateway process did not start:\n${child.recentOutput()}`);
  const ended = child.exited.then(() => undefined);
  return {
    child,
    gateway: { url: ready.slice('ready '.length), ended, stop: () => child.stop().then(() => undefined) },
  };
}

const asked = new WeakMap<Child, number>();

/** What a gateway process holds once its heap was collected, in bytes. */
export async function memoryOf({ child }: GatewayProcess): Promise<number> {
  const times = (asked.get(child) ?? 0) + 1;
  asked.set(child, times);
  process.kill(child.pid, 'SIGHUP');
  const line = await child.waitForLine(new RegExp(`^memory ${times} `), 20_000);
  const [, heap, external] = /heap (\d+) external (\d+)/.exec(line ?? '') ?? [];
  if (heap === undefined || external === undefined) throw new Error(`no memory told: ${child.recentOutput()}`);
  return Number(heap) + Number(external);
}

/** The open request whose arguments contain a text, once its turn knows of it too. */
export async function openRequestWith(
  stage: Pick<GatewayStage, 'store' | 'holdpoint'>,
  text: string,
): Promise<ApprovalRequest> {
  const request = await eventually(async () => {
    const open = await openRequests(stage);
    const found = open.find(({ arguments: given }) => JSON.stringify(given).includes(text));
    if (found === undefined) throw new Error(`${text} is not among ${open.length} open requests`);
    return found;
  }, 30_000);
  // A gateway that is killed between its record and its answer to the turn holds decisions up for 15 s.
  await eventually(async () => {
    const { opened } = await stage.holdpoint.client.workflow.getHandle(request.workflowId).query(snapshotQuery);
    if (!opened) throw new Error(`the turn of ${text} is not open yet`);
  }, 30_000);
  return request;
}

export async function allow(stage: GatewayStage, request: ApprovalRequest): Promise<void> {
  const { code } = await stage.decide(request, 'allow');
  if (code !== 'accepted') throw new Error(`the allow was answered with ${code}`);
}

/** What a call is answered with each time that it is made, up to the answer that is its end. */
export interface Told {
  /** Every status on the way to the end, each once in a row. */
  readonly before: readonly string[];
  readonly end: CallToolResult;
  readonly status: string;
  readonly text: string;
}

/** Makes the same call until it has ended. */
export async function toldUntilEnd(client: Client, ...call: CallArguments): Promise<Told> {
  const before: string[] = [];
  const end = await eventually(async () => {
    const result = await callTool(client, ...call);
    if (pendingApproval(result) === null) return result;
    const { status } = approvalOf(result);
    if (before.at(-1) !== status) before.push(status);
    throw new Error(`${status}: ${textOf(result)}`);
  }, 60_000);
  return { before, end, status: approvalOf(end).status, text: textOf(end) };
}

type CallArguments = Parameters<typeof callTool> extends [Client, ...infer Rest] ? Rest : never;

/** How often each kind of fact is on record of an operation; throws where the record as a whole is not sound. */
export async function countedFacts(
  stage: GatewayStage,
  operationId: string,
): Promise<Readonly<Record<string, number>>> {
  const { problems, rows } = await verifyAudit(stage.store, { publicKeys: [] });
  if (problems.length > 0 || (rows?.problems ?? []).length > 0) {
    throw new Error(JSON.stringify({ problems, rows: rows?.problems }));
  }
  const counts: Record<string, number> = {};
  for (const { kind } of await stage.facts(operationId)) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
