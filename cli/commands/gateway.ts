import type { Command } from 'commander';
import { describeCommand, type Cli } from '../command';
import { runGateway } from './gateway-run';
import { addGatewayStdio } from './gateway-stdio';
import { addGatewayToken } from './gateway-token';

export function addGateway(program: Command, cli: Cli): void {
  const { io, end } = cli;
  const gateway = program
    .command('gateway')
    .description('The MCP gateway: run it (that is "gateway" alone), make its tokens, connect a client to it');
  describeCommand(gateway.command('run', { isDefault: true }), {
    summary:
      'Run one MCP gateway, told by its environment alone (docs/cli.md lists it). "holdpoint gateway" is short for it. SIGTERM ends it in order.',
    examples: [
      'HOLDPOINT_LEDGER_URL=postgres://… HOLDPOINT_PERMIT_KEY_FILE=permit.pem TEMPORAL_ADDRESS=temporal:7233 HOLDPOINT_GATEWAY_TOKENS=tokens.json holdpoint gateway run',
    ],
    exits: ['unreachable'],
  }).action(() => end(runGateway(io)));
  addGatewayStdio(gateway, cli);
  addGatewayToken(gateway, cli);
}
