import type { ApprovalRequest } from '../../core/request';
import type { RequestView, Viewer } from '../../console/ports';
import type { GrantRecord } from '../../ledger/grant-queries';

/** When everything in these views happens: 2027-01-15 08:00:00 UTC. */
export const NOW_MS = 1_800_000_000_000;
export const OPERATION_ID = `op_${'3f9c'.repeat(10)}`;
export const DIGEST = `sha256:${'b1'.repeat(32)}`;

export const VIEWER: Viewer = {
  name: 'dana',
  groups: ['dba'],
  isOperator: false,
  sessionId: 's1',
  signedInAtMs: NOW_MS - 60_000,
};

const request: ApprovalRequest = {
  v: 1,
  operationId: OPERATION_ID,
  revision: 1,
  shortId: '7KQ2M4XB',
  turnId: 't1',
  callId: 'c1',
  workflowId: 't1~amira',
  requester: { subject: 'user:amira', agent: 'support-bot', chain: [] },
  server: 'orders-db',
  tool: 'apply_migration',
  toolTitle: null,
  material: [
    { name: 'environment', as: 'text', from: 'arguments', at: '/environment', found: true, value: 'production' },
    {
      name: 'statement',
      as: 'sql',
      from: 'arguments',
      at: '/sql',
      found: true,
      value: 'ALTER TABLE orders\n  ADD COLUMN delivered_at timestamptz;',
    },
  ],
  arguments: { environment: 'production', sql: 'ALTER TABLE orders\n  ADD COLUMN delivered_at timestamptz;' },
  argumentsDigest: `sha256:${'a1'.repeat(32)}`,
  bindingDigest: DIGEST,
  toolDigest: `sha256:${'d1'.repeat(32)}`,
  serverIdentity: `sha256:${'e1'.repeat(32)}`,
  resourceVersion: '2026_11_28_0003',
  previousResourceVersion: null,
  policyVersion: 3,
  ask: {
    rule: { id: 'production-migrations', version: `sha256:${'c4'.repeat(32)}` },
    matched: [{ id: 'production-migrations', version: `sha256:${'c4'.repeat(32)}`, scope: 'tools' }],
    steps: [{ kind: 'rule', approvers: { groups: ['dba'], people: [], quorum: 1 }, selfApproval: false }],
    bind: 'material',
    validity: { kind: 'once' },
    escalate: [{ afterMs: 600_000, to: { groups: ['dba-leads'], people: [] } }],
    deadline: { afterMs: 1_800_000, then: 'expire', remindEveryMs: null },
    emergency: false,
  },
  cause: 'first',
  openedAtMs: NOW_MS - 120_000,
  deadlineAtMs: NOW_MS + 1_680_000,
  classification: 'customer-data',
  reversible: 'with-effort',
  expected: 'one more column, empty in every row',
  preview: {
    show: 'diff',
    value: {
      content: [
        {
          type: 'text',
          text: ' CREATE TABLE orders (\n   id bigint PRIMARY KEY,\n-  total numeric\n+  total numeric,\n+  delivered_at timestamptz\n );\n',
        },
      ],
    },
  },
  state: null,
  similar: [
    { operationId: `op_${'77'.repeat(20)}`, atMs: NOW_MS - 86_400_000, requester: 'user:amira', state: 'executed' },
  ],
  note: 'Adds the column that the delivery report needs.',
};

const view: Omit<RequestView, 'request'> = {
  standing: { state: 'pending', level: 0, dueAtMs: NOW_MS + 480_000, closedAtMs: null, closedReason: null },
  latestRevision: 1,
  decisions: [],
  operation: null,
  people: { able: ['dana', 'eli'], allows: 0, needed: 1 },
  mayAllow: { ok: true },
  mayDeny: { ok: true },
  emergencies: [],
  policy: null,
  nowMs: NOW_MS,
};

/** An ordinary request that waits for dana, with whatever of it is to be otherwise. */
export function requestView(changes: Partial<ApprovalRequest> = {}, around: Partial<RequestView> = {}): RequestView {
  return { ...view, ...around, request: { ...request, ...changes } };
}

/** A live grant of three uses, of which one is used. */
export const GRANT: GrantRecord = {
  grantId: 'gr_1',
  operationId: OPERATION_ID,
  revision: 1,
  once: false,
  requester: { subject: 'user:amira', agent: 'support-bot' },
  server: 'orders-db',
  tool: 'apply_migration',
  ask: { ...request.ask, validity: { kind: 'window', uses: 3, durationMs: 3_600_000, total: {} } },
  deciders: ['eli'],
  verified: true,
  uses: 1,
  maxUses: 3,
  totals: {},
  grantedAtMs: NOW_MS - 60_000,
  expiresAtMs: NOW_MS + 600_000,
  revokedAtMs: null,
  revokedBy: null,
  revokedReason: null,
};
