import { randomUUID } from 'node:crypto';
import { decisionOn } from '../../client/decision-on';
import type { Decision } from '../../core/decision';
import { bindingDigest, digestOf, operationId } from '../../core/digest';
import type { Ask } from '../../core/evaluation';
import { canonicalJson, type JsonObject, type JsonValue } from '../../core/json';
import type { Person, Policy, Validity } from '../../core/policy';
import type { ApprovalRequest } from '../../core/request';
import type { Requester } from '../../core/requester';
import type { Dispatch } from '../../ledger/commands/dispatch';
import type { CallRef, Opening } from '../../ledger/commands/open-call';
import type { Active, Ledger } from '../../ledger/ledger';

const MINUTE = 60_000;
const person = (name: string, groups: string[]): Person => ({
  name,
  groups,
  keys: [],
  subjects: [name, `user:${name}`],
});

export const PEOPLE = {
  r1: person('r1', ['dba']),
  r2: person('r2', ['dba']),
  l1: person('l1', ['dba-leads']),
  u1: person('u1', []),
};

export const POLICY: Policy = { v: 1, trust: 'namespace', people: PEOPLE, servers: {}, access: [], rules: [] };

/** A policy that still has the server, and a rule in the version of `askOf`. */
export const COVERING: Policy = {
  ...POLICY,
  servers: { 'orders-db': { name: 'orders-db', tools: {} } as never },
  rules: [{ id: 'production-migrations', version: 'v1', server: 'orders-db', scope: { kind: 'all' } } as never],
};

export function askOf({ quorum = 1, validity = { kind: 'once' } as Validity, version = 'v1' } = {}): Ask {
  return {
    rule: { id: 'production-migrations', version },
    matched: [{ id: 'production-migrations', version, scope: 'tools' }],
    steps: [{ kind: 'rule', approvers: { groups: ['dba'], people: [], quorum }, selfApproval: false }],
    bind: 'arguments',
    validity,
    escalate: [{ afterMs: 10 * MINUTE, to: { groups: ['dba-leads'], people: [] } }],
    deadline: { afterMs: 30 * MINUTE, then: 'expire', remindEveryMs: null },
    emergency: false,
  };
}

export interface CallShape {
  readonly turnId?: string;
  readonly callId?: string;
  readonly requester?: Requester;
  readonly server?: string;
  readonly tool?: string;
  readonly arguments?: JsonObject;
  readonly resourceVersion?: JsonValue;
  readonly ask?: Ask | null;
}

/** A call as the activities would prepare it, with literal parts. */
export interface PreparedFixture {
  readonly ref: CallRef;
  readonly opening: (active: Active, cause?: Opening['cause']) => Opening;
  readonly dispatching: (active: Active, more?: Partial<Dispatch>) => Omit<Dispatch, 'signatureOf'>;
  readonly digest: string;
}

const DEFAULT_REQUESTER: Requester = { subject: 'someone', agent: 'bot', chain: [] };

export function prepared(shape: CallShape = {}): PreparedFixture {
  const {
    turnId = randomUUID(),
    callId = 'c1',
    requester = DEFAULT_REQUESTER,
    server = 'orders-db',
    tool = 'delete_rows',
  } = shape;
  const { arguments: args = { id: 1 }, resourceVersion = null, ask = askOf() } = shape;
  const contentDigest = digestOf([server, tool, args]);
  const ref: CallRef = {
    operationId: operationId({ requesterSubject: requester.subject, turnId, callId }),
    workflowId: `turn-${turnId}`,
    turnId,
    callId,
    requester,
    requesterKey: digestOf({ ...requester }),
    server,
    tool,
    contentDigest,
  };
  const bound = { bind: ask?.bind ?? ('arguments' as const), bound: args, resourceVersion };
  const digest = bindingDigest({
    v: 1,
    requester,
    server: { name: server, identity: 'id' },
    tool,
    toolDigest: 'tool',
    ...bound,
  });
  return {
    ref,
    digest,
    opening: openingOf({ ref, ask, args, resourceVersion, digest }),
    dispatching: dispatchOf({ ref, ask, args, resourceVersion, digest }),
  };
}

interface Parts {
  readonly ref: CallRef;
  readonly ask: Ask | null;
  readonly args: JsonObject;
  readonly resourceVersion: JsonValue;
  readonly digest: string;
}

function openingOf({ ref, ask, args, resourceVersion, digest }: Parts): PreparedFixture['opening'] {
  return (active, cause = 'first') => {
    if (ask === null) return { call: ref, active, cause, plan: { kind: 'free' } };
    const draft = {
      v: 1,
      operationId: ref.operationId,
      turnId: ref.turnId,
      callId: ref.callId,
      workflowId: ref.workflowId,
      requester: ref.requester,
      server: ref.server,
      tool: ref.tool,
      toolTitle: null,
      material: [],
      arguments: args,
      argumentsDigest: ref.contentDigest,
      bindingDigest: digest,
      toolDigest: 'tool',
      serverIdentity: 'id',
      resourceVersion,
      policyVersion: active.version,
      ask,
      classification: null,
      reversible: null,
      expected: null,
      preview: null,
      state: null,
      note: null,
    } as const;
    return { call: ref, active, cause, plan: { kind: 'ask', draft, similarDigest: 'similar' } };
  };
}

function dispatchOf({ ref, ask, args, resourceVersion, digest }: Parts): PreparedFixture['dispatching'] {
  return (active, more = {}) => ({
    call: ref,
    ask,
    bindingDigest: digest,
    bound: {
      toolDigest: 'tool',
      serverIdentity: 'id',
      resourceVersion: canonicalJson(resourceVersion),
      argumentsDigest: ref.contentDigest,
      masked: canonicalJson(args),
    },
    amounts: {},
    emergencies: [],
    similarDigest: 'similar',
    active,
    lookUp: null,
    leaseMs: 30_000,
    attempt: 1,
    ...more,
  });
}

/** Makes `policy` active and answers it as the activities read it. */
export async function activate(ledger: Ledger, policy: Policy = POLICY): Promise<Active> {
  await ledger.applyPolicy({
    text: canonicalJson(policy as unknown as JsonObject),
    fileName: 'policy.yaml',
    policy,
    by: 'test',
  });
  const active = await ledger.activePolicy();
  if (active === null) throw new Error('no policy is active');
  return active;
}

/** Opens a call and answers its request; fails where it is not pending. */
export async function openPending(ledger: Ledger, call: PreparedFixture, active: Active): Promise<ApprovalRequest> {
  const [opened] = await ledger.openCalls([call.opening(active)]);
  if (opened?.kind !== 'state' || opened.state.status !== 'pending')
    throw new Error(`not pending: ${JSON.stringify(opened)}`);
  return opened.state.request;
}

export function decisionFor(
  request: ApprovalRequest,
  answer: 'allow' | 'deny',
  more: Partial<Decision> = {},
): Decision {
  return decisionOn(request, { answer, reviewer: 'r1', ...more });
}
