import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pino from 'pino';
import {
  decisionOn,
  signDecision,
  type ApprovalRequest,
  type Decision,
  type Holdpoint,
  type Verdict,
} from '../../client';
import { exampleDataDir } from '../../cli/dev/example';
import { startStack, type Stack } from '../../cli/dev/stack';
import { makeStateFolder } from '../../cli/dev/state-folder';
import { processIo } from '../../cli/io';
import { withTemporal } from '../../cli/temporal';
import { createLedger, type Ledger } from '../../ledger/ledger';
import { openStore } from '../../ledger/open-store';
import { sqliteEngine, type SqliteDatabase } from '../../ledger/sqlite-engine';
import { faultPath, type Fault } from './fault';

/** The processes of the demo and what they left on record: everything that it prints is read from here. */
export interface World {
  readonly stack: Stack;
  readonly ledger: Ledger;
  readonly holdpoint: Holdpoint;
  /** The tool server's own database, which Holdpoint never opens. */
  readonly production: SqliteDatabase;
  readonly dataDir: string;
}

/**
 * Starts the processes in a temporary folder, runs `story`, and leaves nothing behind, however it ends.
 * @param stopping ends it early, in order.
 */
export async function inWorld(
  story: (world: World) => Promise<void>,
  stopping: Promise<'stop'>,
): Promise<'done' | 'stop'> {
  const folder = await mkdtemp(join(tmpdir(), 'holdpoint-demo-'));
  try {
    await makeStateFolder(folder);
    const starting = startStack({ stateDir: folder, example: true, ports: 'any', onProgress: progress });
    try {
      const done = starting.then((stack) => run(folder, stack, story)).then(() => 'done' as const);
      return await Promise.race([done, stopping]);
    } finally {
      await starting.then((stack) => stack.stop()).catch(() => undefined);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function run(folder: string, stack: Stack, story: (world: World) => Promise<void>): Promise<void> {
  progress('starting the worker');
  await stack.start('worker');
  await withRecords(folder, stack, story);
}

function progress(step: string): void {
  process.stderr.write(`… ${step}\n`);
}

async function withRecords(folder: string, stack: Stack, story: (world: World) => Promise<void>): Promise<void> {
  const store = await openStore(stack.dev.ledgerUrl, pino({ level: 'silent' }));
  const { open } = await sqliteEngine();
  const production = open(stack.dev.example?.database ?? '');
  const place = { kind: 'dev', stateDir: folder, dev: stack.dev, ledgerUrl: stack.dev.ledgerUrl } as const;
  const ledger = createLedger(store, { defaultTrust: 'namespace' });
  try {
    await withTemporal(processIo(), place, (holdpoint) =>
      story({ stack, ledger, holdpoint, production, dataDir: exampleDataDir(folder) }),
    );
  } finally {
    production.close();
    await store.close();
  }
}

/** Lets the tool server fail at its next migration. */
export async function setFault({ dataDir }: World, fault: Fault): Promise<void> {
  await writeFile(faultPath(dataDir), fault);
}

const PATIENCE_MS = 40_000;

/** A decision by the reviewer of the stack, signed with the reviewer's own key. */
export async function decide(
  { stack, holdpoint }: World,
  request: ApprovalRequest,
  given: Pick<Decision, 'answer' | 'reason'>,
): Promise<Verdict> {
  const { name, keyFile } = stack.dev.reviewer;
  const decision = decisionOn(request, { reviewer: name, channel: 'cli', ...given });
  return holdpoint.decide(request.workflowId, signDecision(decision, await readFile(keyFile, 'utf8')), {
    limitMs: PATIENCE_MS,
  });
}

/** What `read` gives as soon as it gives something. */
export async function eventually<T>(what: string, read: () => Promise<T | null | undefined>): Promise<T> {
  for (const endMs = Date.now() + PATIENCE_MS; ;) {
    const found = await read();
    if (found !== null && found !== undefined) return found;
    if (Date.now() > endMs) throw new Error(`the demo waited ${PATIENCE_MS / 1_000} s for ${what}`);
    await delay(50);
  }
}

/** Ends the demo where its story is not what happened. */
export function mustHold(what: string, holds: boolean): void {
  if (!holds) throw new Error(`the demo expected that ${what}`);
}
