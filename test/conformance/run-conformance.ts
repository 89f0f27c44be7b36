import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { parsePolicyFile } from '../../core/policy-file';
import { freePort } from '../../worker/free-port';
import { startGatewayStage } from '../support/gateway-stage';
import { startServices, stopServices } from '../support/services';

const HELP = `Runs the official MCP conformance suite through a gateway.

  node -r ./test/support/ts-hook.cjs test/conformance/run-conformance.ts --upstream URL --suite FILE [--node FILE] [-- ARGS]

  --upstream URL   the SDK repository's everything server, running; it is in no package. Or a command, "stdio:node FILE"
  --suite FILE     dist/index.js of @modelcontextprotocol/conformance
  --node FILE      a Node >= 22, which the suite needs; this one by default
  ARGS             further arguments of the suite, such as --requirements 2025-11-25

The suite's client sends no token, so a hop in front of the gateway adds one; it passes everything else on as it is.`;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      upstream: { type: 'string' },
      suite: { type: 'string' },
      node: { type: 'string', default: process.execPath },
    },
  });
  const { upstream, suite, node } = values;
  if (upstream === undefined || suite === undefined) {
    console.error(HELP);
    return 2;
  }
  await startServices(new Set(['temporal']));
  const [port, ownPort] = [await freePort(), await freePort()];
  const publicUrl = `http://localhost:${port}`;
  const stage = await startGatewayStage({ edge: { publicUrl, port: ownPort } });
  const text = policyOf(upstream);
  const parsed = parsePolicyFile(text, 'policy.yaml');
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  await stage.ledger.applyPolicy({ text, fileName: 'policy.yaml', policy: parsed.policy, by: 'conformance' });
  const hop = await startHop(port, {
    to: `http://127.0.0.1:${ownPort}`,
    token: stage.token('user:suite', 'conformance'),
  });
  try {
    const args = [suite, 'server', '--url', `${publicUrl}/mcp/everything`, ...positionals];
    const [code] = (await once(spawn(node, args, { stdio: 'inherit' }), 'exit')) as [number | null];
    return code ?? 1;
  } finally {
    hop.close();
    hop.closeAllConnections();
    await stage.close();
    await stopServices();
  }
}

function policyOf(upstream: string): string {
  return `trust: namespace
people:
  r1: { groups: [dba] }
servers:
  everything:
    ${transportOf(upstream)}
    session: client
access:
  - { subjects: ['*'], agents: ['*'], server: everything, tools: ['*'] }
rules: []
`;
}

function transportOf(upstream: string): string {
  if (!upstream.startsWith('stdio:')) return `http: { url: '${upstream}' }`;
  const [command = '', ...args] = upstream.slice('stdio:'.length).split(' ');
  return `stdio: { command: ${JSON.stringify(command)}, args: ${JSON.stringify(args)} }`;
}

async function startHop(port: number, { to, token }: { readonly to: string; readonly token: string }): Promise<Server> {
  const server = createServer((req, res) => {
    const headers = { ...req.headers, authorization: `Bearer ${token}` };
    const out = request(new URL(req.url ?? '/', to), { method: req.method, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      res.flushHeaders();
      answer.pipe(res);
    });
    out.on('error', () => res.destroy());
    res.on('close', () => out.destroy());
    req.pipe(out);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  console.error(`gateway behind http://localhost:${(server.address() as AddressInfo).port}`);
  return server;
}

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);
