import { join } from 'node:path';
import pino from 'pino';
import { connect, decisionOn, type Holdpoint } from '../client';
import { newToken } from '../gateway/edge/new-token';
import { openStore } from '../ledger/open-store';
import { revisionsOf } from '../ledger/queries';
import type { Child } from '../worker/child-process';
import { benchClient, type BenchClient } from './gateway-client';
import { startProcess, whenReady } from './processes';
import { REVIEWER, SERVER } from './policy';
import { startStack, type Stack } from './stack';

/** A stack with a gateway process in front of its tool server. */
export interface GatewayStack {
  readonly stack: Stack;
  readonly gateway: Child;
  readonly holdpoint: Holdpoint;
  /** A client of the tool server itself. */
  direct(): Promise<BenchClient>;
  /** A client of the gateway, as a person of this name. */
  through(subject: string, server?: string): Promise<BenchClient>;
  /** Allows an open request, as its reviewer. */
  allow(operationId: string): Promise<void>;
  close(): Promise<void>;
}

export async function startGatewayStack(): Promise<GatewayStack> {
  const stack = await startStack();
  const { address, ledgerUrl, keyFile, toolUrl, folder } = stack.places;
  const tokensFile = join(folder, 'tokens.json');
  const tokenOf = (subject: string): string => {
    const made = newToken(tokensFile, { subject, agent: 'bench' });
    if (!made.ok) throw new Error(made.detail);
    return made.token;
  };
  tokenOf('user:first');
  const gateway = await startProcess('gateway', [address, ledgerUrl, keyFile, tokensFile]);
  const url = await whenReady('gateway', gateway);
  const store = await openStore(ledgerUrl, pino({ level: 'silent' }));
  const holdpoint = await connect({ address, namespace: 'default' });
  return {
    stack,
    gateway,
    holdpoint,
    direct: () => benchClient(`${toolUrl}/mcp`),
    through: (subject, server = SERVER) => benchClient(`${url}/mcp/${server}`, tokenOf(subject)),
    allow: async (operationId) => {
      const [record] = await revisionsOf(store.db, operationId);
      if (record === undefined) throw new Error(`nobody was asked about ${operationId}`);
      const { request } = record;
      const verdict = await holdpoint.decide(
        request.workflowId,
        decisionOn(request, { answer: 'allow', reviewer: REVIEWER }),
      );
      if (verdict.code !== 'accepted') throw new Error(`the decision is ${verdict.code}: ${verdict.detail}`);
    },
    close: async () => {
      await holdpoint.close();
      await store.close();
      await gateway.stop();
      await stack.close();
    },
  };
}
