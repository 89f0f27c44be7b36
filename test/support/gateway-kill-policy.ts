import { applyGatewayPolicy } from './gateway-policy';
import type { GatewayStage } from './gateway-stage';

const OUTCOME =
  'outcome: { tool: find_migration, arguments: { operation_id: { fill: operationId } }, executed: { at: /structuredContent/applied, equals: true }, authoritative: true, settleAfter: 1s, budget: 6s }';

/** A lease of 2 s and its margin of 5 s, then one second for the tool to settle. */
const toolsOf = (migration: string) => `{
        read_rows: { destructive: false },
        find_migration: { destructive: false },
        schema_version: { destructive: false },
        apply_migration: {
          arguments: { operation_id: { fill: operationId } },
          material: { environment: { at: /environment, as: text }, statement: { at: /sql, as: sql } },
          timeout: 2s, ${migration}
          ${OUTCOME} },
        send_mail: { timeout: 2s, material: { to: { at: /to, as: text } } } }`;

/**
 * A policy for gateways that are killed: `apply_migration` can be looked up by its operation id, `send_mail` cannot. On
 * the server `repeating` a migration may also be sent again under the same id. Time-outs are short.
 */
export async function applyKillPolicy(stage: Pick<GatewayStage, 'deps' | 'tools'>): Promise<void> {
  const { url } = stage.tools;
  await applyGatewayPolicy(stage, {
    scope: '{ tools: [apply_migration, send_mail] }',
    servers: {
      'orders-db': { url, session: 'client', tools: toolsOf('') },
      repeating: { url, session: 'client', tools: toolsOf('idempotent: true,') },
    },
  });
}
