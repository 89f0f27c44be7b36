import { createHash } from 'node:crypto';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newToken, revokeToken } from '../../gateway/edge/new-token';
import { readTokenFile } from '../../gateway/edge/token-file';
import { CliFailure } from '../failure';
import { safe } from '../text';
import type { DevFile } from './dev-file';

export interface AgentToken {
  /** The gateway's file, which holds hashes. */
  readonly tokensFile: string;
  /** The token itself, on one line, for its owner alone. */
  readonly tokenFile: string;
}

/**
 * The token with which the agent's programs speak to the gateway of a state folder: made at the first start and kept, so
 * that what a client was given stays good. Where the agent is another one now, so is the token, and the old one ends.
 */
export async function ensureAgentToken(stateDir: string, { subject, agent }: DevFile['agent']): Promise<AgentToken> {
  const tokensFile = join(stateDir, 'keys', 'gateway-tokens.json');
  const tokenFile = join(stateDir, 'keys', 'agent.token');
  const given = (await readFile(tokenFile, 'utf8').catch(() => '')).trim();
  const sha256 = createHash('sha256').update(given).digest('hex');
  const read = readTokenFile(tokensFile);
  const known = read.ok ? read.tokens.find((token) => token.sha256 === sha256) : undefined;
  if (known?.subject === subject && known.agent === agent) return { tokensFile, tokenFile };
  const made = newToken(tokensFile, { subject, agent });
  if (!made.ok) throw unusable(made.detail);
  await writeFile(tokenFile, `${made.token}\n`, { mode: 0o600 });
  await chmod(tokenFile, 0o600);
  const revoked = known === undefined ? null : revokeToken(tokensFile, known.id);
  if (revoked?.ok === false) throw unusable(revoked.detail);
  return { tokensFile, tokenFile };
}

function unusable(detail: string): CliFailure {
  return new CliFailure('refused', `The gateway's file of tokens cannot be used: ${safe(detail)}.`);
}
