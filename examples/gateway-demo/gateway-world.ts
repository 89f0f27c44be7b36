import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import pino from 'pino';
import { startStack, type Stack } from '../../cli/dev/stack';
import { makeStateFolder } from '../../cli/dev/state-folder';
import { processIo } from '../../cli/io';
import { withTemporal } from '../../cli/temporal';
import { PACKAGE_DIR, VERSION } from '../../cli/version';
import {
  decisionOn,
  signDecision,
  type ApprovalRequest,
  type Decision,
  type Holdpoint,
  type Verdict,
} from '../../client';
import { parsePolicyFile } from '../../core/policy-file';
import { createLedger, type Ledger } from '../../ledger/ledger';
import { openStore } from '../../ledger/open-store';
import type { Child } from '../../worker/child-process';

/** Who asks and who decides: two people, so that nobody approves what is theirs. */
const PEOPLE = { agent: { subject: 'user:amira', agent: 'demo-client' }, reviewer: 'dana' } as const;

const POLICY_FILE = join(PACKAGE_DIR, 'examples/gateway-demo/policy.yaml');
const FILE_SERVER = join(PACKAGE_DIR, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js');
const DECISION_MS = 40_000;
const NOTICED_WITHIN_MS = 2_000;

/** The processes of the demo and what they left on record: everything that it prints is read from here. */
export interface GatewayWorld {
  readonly stack: Stack;
  readonly ledger: Ledger;
  readonly holdpoint: Holdpoint;
  /** A client of MCP that knows an address and a token, and nothing of Holdpoint. */
  readonly client: Client;
  readonly endpoint: string;
  /** The folder that the filesystem server was given. */
  readonly notes: string;
}

/**
 * Starts the processes in a temporary folder, runs `story`, and leaves nothing behind, however it ends.
 * @param stopping ends it early, in order.
 */
export async function inGatewayWorld(
  story: (world: GatewayWorld) => Promise<void>,
  stopping: Promise<'stop'>,
): Promise<'done' | 'stop'> {
  if (!existsSync(FILE_SERVER)) throw new Error(`there is no ${FILE_SERVER}: run "npm ci" first`);
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'holdpoint-demo-')));
  try {
    const stateDir = join(folder, 'state');
    await makeStateFolder(stateDir);
    const notes = join(folder, 'notes');
    await mkdir(notes);
    await writeFile(join(notes, 'plan.txt'), 'Order the cake on Friday.\n');
    const starting = startStack({ stateDir, example: false, ports: 'any', people: PEOPLE, onProgress: progress });
    try {
      const done = starting.then((stack) => run({ stack, stateDir, notes }, story)).then(() => 'done' as const);
      return await Promise.race([done, stopping]);
    } finally {
      await starting.then((stack) => stack.stop()).catch(() => undefined);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Place {
  readonly stack: Stack;
  readonly stateDir: string;
  readonly notes: string;
}

async function run(place: Place, story: (world: GatewayWorld) => Promise<void>): Promise<void> {
  const { stack, stateDir, notes } = place;
  const store = await openStore(stack.dev.ledgerUrl, pino({ level: 'silent' }));
  const ledger = createLedger(store, { defaultTrust: 'namespace' });
  const client = new Client({ name: 'holdpoint-demo', version: VERSION });
  try {
    await applyPolicy(ledger, place);
    progress('starting worker and gateway');
    const parts = await Promise.all([stack.start('worker'), stack.start('gateway')]);
    const endpoint = await connect(client, stack);
    const dev = { kind: 'dev', stateDir, dev: stack.dev, ledgerUrl: stack.dev.ledgerUrl } as const;
    const told = withTemporal(processIo(), dev, (holdpoint) =>
      story({ stack, ledger, holdpoint, client, endpoint, notes }),
    );
    // A client would wait a minute for the answer of a gateway that is gone.
    const ended = Promise.race(parts.map(endsEarly));
    await Promise.race([told.catch((error: unknown) => reasonFor(error, ended)), ended]);
  } finally {
    await client.close();
    await store.close();
  }
}

/** A connection breaks a moment before the end of its process is known, and that is what has to be told. */
async function reasonFor(error: unknown, ended: Promise<never>): Promise<never> {
  await Promise.race([ended, delay(NOTICED_WITHIN_MS)]);
  throw error;
}

async function endsEarly(child: Child): Promise<never> {
  await child.exited;
  throw new Error(`a process of the demo has ended:\n${child.recentOutput()}`);
}

function progress(step: string): void {
  process.stderr.write(`… ${step}\n`);
}

/** The policy of this folder, with the server that npm has installed here and the key of the demo's reviewer. */
async function applyPolicy(ledger: Ledger, { stack, notes }: Place): Promise<void> {
  const { name, publicKey } = stack.reviewer;
  const text = (await readFile(POLICY_FILE, 'utf8'))
    .replace(
      /stdio: \{.*\}/,
      `stdio: { command: ${quoted(process.execPath)}, args: [${[FILE_SERVER, notes].map(quoted).join(', ')}] }`,
    )
    .replace(`${name}: { groups: [owners] }`, `${name}: { groups: [owners], key: '${publicKey}' }`);
  const parsed = parsePolicyFile(text, 'policy.yaml');
  if (!parsed.ok || !text.includes(notes) || !text.includes(publicKey)) throw new TypeError('the policy does not fit');
  await ledger.applyPolicy({ text, fileName: 'policy.yaml', policy: parsed.policy, by: 'npm run demo:gateway' });
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

/** Connects as any client does: by an address, and by a token in a header. */
async function connect(client: Client, { dev: { gateway } }: Stack): Promise<string> {
  if (gateway === undefined) throw new TypeError('the stack has no gateway');
  const endpoint = `${gateway.url}/mcp/files`;
  const token = (await readFile(gateway.tokenFile, 'utf8')).trim();
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  const transport = new StreamableHTTPClientTransport(new URL(endpoint), { requestInit });
  await client.connect(transport);
  return endpoint;
}

/** A decision by the reviewer of the stack, signed with the reviewer's own key. */
export async function decideAs(
  { stack, holdpoint }: Pick<GatewayWorld, 'stack' | 'holdpoint'>,
  request: ApprovalRequest,
  given: Pick<Decision, 'answer' | 'reason'>,
): Promise<Verdict> {
  const { name, keyFile } = stack.reviewer;
  const decision = decisionOn(request, { reviewer: name, channel: 'cli', ...given });
  const signed = signDecision(decision, await readFile(keyFile, 'utf8'));
  return holdpoint.decide(request.workflowId, signed, { limitMs: DECISION_MS });
}
