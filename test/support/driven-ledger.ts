import { canonicalJson } from '../../core/json';
import type { Ask } from '../../core/evaluation';
import type { Person, Policy } from '../../core/policy';
import type { ApprovalRequest } from '../../core/request';
import type { Dispatch } from '../../ledger/commands/dispatch';
import type { Active, Ledger } from '../../ledger/ledger';
import { claimDeliveries, recordDelivered, recordFailed, type OutboxReader } from '../../ledger/outbox';
import { activate, askOf, COVERING, decisionFor, openPending, prepared, type PreparedFixture } from './ledger-fixture';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const WINDOW = { kind: 'window', uses: 3, durationMs: 12 * 60 * MINUTE, total: {} } as const;
const READER: OutboxReader = { endpoint: 'ops', wants: () => true };
const FIRST = 'outcome of the first look';

const person = (name: string, groups: string[]): Person => ({ name, groups, keys: [], subjects: [`user:${name}`] });

/** Three people of `dba`, one of `dba-leads`, an operator, and somebody with nothing to do with it. */
const DRIVEN_POLICY: Policy = {
  ...COVERING,
  rules: [...COVERING.rules, { id: 'never-asked', version: 'v1', server: 'mail', scope: { kind: 'all' } } as never],
  people: Object.fromEntries(
    [
      person('r1', ['dba']),
      person('r2', ['dba']),
      person('r3', ['dba']),
      person('l1', ['dba-leads']),
      person('omar', []),
      person('vik', []),
    ].map((each) => [each.name, each]),
  ),
  console: { keys: [], operators: { groups: [], people: ['omar'] } },
};

const OWN_HUMAN: Ask = { ...askOf(), rule: null, matched: [], steps: [{ kind: 'confirm', subject: 'user:someone' }] };

export interface Clock {
  nowMs: number;
}

/**
 * A day of a small team, driven through the ledger's own commands in less than three hours of the clock that is given. What
 * happens in it stands beside each line, so that the tests that read it can state every number.
 */
export async function drive(ledger: Ledger, clock: Clock): Promise<Active> {
  const active = await activate(ledger, DRIVEN_POLICY);
  await claimDeliveries(ledger.store, { reader: READER, limit: 1, leaseMs: MINUTE });
  const day = new Day(ledger, { clock, active });
  await day.deletesAndItsRepeats();
  await day.dropsThatWentStale();
  await day.sendsThatFailed();
  await day.callsOfWhichNobodyWasAsked();
  await day.aWindow();
  await day.whatIsOpen();
  await day.notices();
  return active;
}

class Day {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #active: Active;

  constructor(ledger: Ledger, { clock, active }: { clock: Clock; active: Active }) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#active = active;
  }

  /** 3 asked for one thing: allowed after 90 s and executed; denied after 20 s; escalated, and expired after 30 min. */
  async deletesAndItsRepeats(): Promise<void> {
    const [first, second, third] = [prepared(), prepared(), prepared()];
    await this.#decided(first, { afterMs: 90 * SECOND, by: 'r1', channel: 'cli' });
    await this.#sent(first);
    await this.#ended(first, 'executed');
    await this.#decided(second, { afterMs: 20 * SECOND, by: 'r2', answer: 'deny' });
    await openPending(this.#ledger, third, this.#active);
    this.#clock.nowMs += 10 * MINUTE;
    await this.#ledger.advanceRequest(third.ref.operationId);
    this.#clock.nowMs += 20 * MINUTE;
    await this.#ledger.advanceRequest(third.ref.operationId);
  }

  /** Allowed after 400 s, stale, asked again and allowed after 10 s; sent, unknown, settled. One more is withdrawn. */
  async dropsThatWentStale(): Promise<void> {
    const call = prepared({ tool: 'drop_table' });
    await this.#decided(call, { afterMs: 400 * SECOND, by: 'r1' });
    const { bound } = call.dispatching(this.#active);
    const changed = { bound: { ...bound, resourceVersion: canonicalJson('18') } };
    expect(await this.#ledger.dispatch(call.dispatching(this.#active, changed))).toMatchObject({ kind: 'stale' });
    const [again] = await this.#ledger.openCalls([call.opening(this.#active, 'resourceChanged')]);
    if (again?.kind !== 'state' || again.state.status !== 'pending') throw new Error('not asked again');
    await this.#decide(again.state.request, { afterMs: 10 * SECOND, by: 'r3' });
    await this.#sent(call);
    await this.#ended(call, 'unknown');
    const operationId = call.ref.operationId;
    await this.#ledger.settle({ operationId, outcome: 'executed', by: 'omar', reason: 'looked at by hand' });
    const left = prepared({ tool: 'drop_table', arguments: { id: 2 } });
    await openPending(this.#ledger, left, this.#active);
    await this.#ledger.withdraw(left.ref.operationId, 'not needed any more');
  }

  /** Both allowed after 3 s: one failed, and the other's effect was proven by a look-up that first found none. */
  async sendsThatFailed(): Promise<void> {
    const failed = prepared({ arguments: { id: 3 } });
    await this.#decided(failed, { afterMs: 3 * SECOND, by: 'r1' });
    await this.#sent(failed);
    await this.#ended(failed, 'failed');
    const found = prepared({ arguments: { id: 4 } });
    await this.#decided(found, { afterMs: 3 * SECOND, by: 'r2' });
    await this.#sent(found);
    await this.#ledger.recordAbsence(found.ref.operationId, 1);
    const result = { outcome: 'executed', result: FIRST, isError: false, evidence: 'lookUp' } as const;
    await this.#ledger.recordOutcome(found.ref.operationId, { ...result, result: JSON.stringify(FIRST) });
  }

  /** One that no rule asks about, whose tool answers with an error; one that is refused. */
  async callsOfWhichNobodyWasAsked(): Promise<void> {
    const free = prepared({ server: 'mail', tool: 'read', ask: null });
    await this.#ledger.openCalls([free.opening(this.#active)]);
    await this.#sent(free);
    await this.#ended(free, 'executedWithError');
    const plan = { kind: 'refused', refusal: { code: 'TOOL_UNKNOWN', detail: 'no such tool' } } as const;
    const call = prepared({ tool: 'a tool\nthat nobody has' }).ref;
    await this.#ledger.openCalls([{ call, active: this.#active, cause: 'first', plan }]);
  }

  /** Escalated, and allowed after 2 h for three uses: the second is by a call that is asked about no more. It stays live. */
  async aWindow(): Promise<void> {
    const shape = {
      ...{ tool: 'truncate', ask: { ...askOf({ validity: WINDOW }), deadline: { ...askOf().deadline, afterMs: 9e6 } } },
    };
    const [asked, covered] = [prepared(shape), prepared(shape)];
    await this.#decided(asked, { afterMs: 120 * MINUTE, by: 'l1' });
    await this.#sent(asked);
    await this.#ended(asked, 'executed');
    await this.#ledger.openCalls([covered.opening(this.#active)]);
    await this.#sent(covered);
  }

  /** 2 wait: one of the rule since 5 min, with two decisions that do not count; one that the runtime itself asks. */
  async whatIsOpen(): Promise<void> {
    const call = prepared({ arguments: { id: 5 } });
    const request = await openPending(this.#ledger, call, this.#active);
    await this.#ledger.recordDecision(decisionFor(request, 'allow', { reviewer: 'vik' }), call.ref.workflowId);
    await this.#ledger.recordDecision({ v: 1, answer: 'allow' }, call.ref.workflowId);
    this.#clock.nowMs += 4 * MINUTE;
    const requester = { subject: 'user:someone', agent: 'bot', chain: [] };
    await openPending(
      this.#ledger,
      prepared({ tool: 'send', server: 'mail', requester, ask: OWN_HUMAN }),
      this.#active,
    );
    this.#clock.nowMs += MINUTE;
  }

  /** Of the notices of all that one arrives and one is given up; the others wait. */
  async notices(): Promise<void> {
    const [arrived, lost] = await claimDeliveries(this.#ledger.store, { reader: READER, limit: 2, leaseMs: MINUTE });
    if (arrived === undefined || lost === undefined) throw new Error('nothing was emitted');
    await recordDelivered(this.#ledger.store, arrived);
    await recordFailed(this.#ledger.store, { delivery: lost, error: 'gone', retryInMs: null });
  }

  async #decided(call: PreparedFixture, decision: Answering): Promise<void> {
    await this.#decide(await openPending(this.#ledger, call, this.#active), decision);
  }

  async #decide(request: ApprovalRequest, { afterMs, by, answer = 'allow', channel = 'console' }: Answering) {
    this.#clock.nowMs += afterMs;
    const decision = decisionFor(request, answer, { reviewer: by, channel, reason: 'as agreed' });
    const { verdict } = await this.#ledger.recordDecision(decision, request.workflowId);
    expect(verdict.code).toBe('accepted');
  }

  async #sent(call: PreparedFixture, more: Partial<Dispatch> = {}): Promise<void> {
    expect(await this.#ledger.dispatch(call.dispatching(this.#active, more))).toMatchObject({ kind: 'dispatched' });
  }

  async #ended({ ref: { operationId } }: PreparedFixture, end: keyof typeof ENDINGS): Promise<void> {
    await this.#ledger.recordOutcome(operationId, ENDINGS[end]);
  }
}

interface Answering {
  readonly afterMs: number;
  readonly by: string;
  readonly answer?: 'allow' | 'deny';
  readonly channel?: 'console' | 'cli';
}

const ENDINGS = {
  executed: { outcome: 'executed', result: '{}', isError: false, evidence: 'answer' },
  executedWithError: { outcome: 'executed', result: '{}', isError: true, evidence: 'answer' },
  failed: { outcome: 'failed', detail: 'refused by the server', evidence: 'answer' },
  unknown: { outcome: 'unknown', detail: 'no answer' },
} as const;
