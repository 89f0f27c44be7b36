import { createLedger, type Active, type Ledger } from '../../ledger/ledger';
import type { ApprovalRequest } from '../../core/request';
import type { MaterialField } from '../../core/evaluation';
import type { Store } from '../../ledger/transaction';
import { noticeEndpoints } from '../../worker/notify/notice-endpoints';
import { readNotify } from '../../worker/notify/notify-settings';
import { startOutboxRelay, type OutboxRelay, type OutboxRelayOptions } from '../../worker/outbox-relay';
import { testClock, type TestClock } from './clock';
import { eventually } from './eventually';
import {
  activate,
  askOf,
  decisionFor,
  openPending,
  POLICY,
  prepared,
  type CallShape,
  type PreparedFixture,
} from './ledger-fixture';
import { freshStore, type FreshStore } from './stores';
import { startReceiver, type WebhookReceiver } from './webhook-receiver';

const ROUTING_KEY = 'R0123456789ABCDEF0123456789ABCDE';

const REQUESTER = { subject: 'user:amira', agent: 'deployer', chain: [] };

export interface Asked {
  readonly call: PreparedFixture;
  readonly request: ApprovalRequest;
}

/** A real ledger whose outbox is relayed to notice channels, with receivers on this machine. */
export interface NotifyStage {
  readonly fresh: FreshStore;
  readonly ledger: Ledger;
  readonly clock: TestClock;
  readonly slack: WebhookReceiver;
  readonly teams: WebhookReceiver;
  readonly pager: WebhookReceiver;
  /** Starts a relay that has taken notice of its channels. `smtpPort`: of a mail server. */
  relay(settings: StageSettings, more?: Partial<OutboxRelayOptions>): Promise<OutboxRelay>;
  ask(shape?: AskShape): Promise<Asked>;
  answer(asked: Asked, answer: 'allow' | 'deny', reason?: string): Promise<void>;
  /** An on-call person allows under the emergency rule of `emergency-policy`. */
  allowInEmergency(asked: Asked): Promise<void>;
  /** Sends an allowed call. */
  dispatch(call: PreparedFixture): Promise<void>;
  /** A call that no rule asks about, sent. */
  ungated(): Promise<PreparedFixture>;
  /** How many deliveries are open, and are not planned for later. */
  due(): Promise<number>;
  /** Waits until all that is due now was tried. */
  settled(): Promise<void>;
  deliveries(endpoint: string): Promise<readonly DeliveryRow[]>;
  close(): Promise<void>;
}

export interface DeliveryRow {
  readonly id: string;
  readonly attempts: number;
  readonly state: 'open' | 'over' | 'givenUp';
  readonly error: string | null;
}

export interface StageSettings {
  /** Names of channels: `slack`, `teams`, `pager` and `mail` are there. */
  readonly routes: readonly Readonly<Record<string, unknown>>[];
  readonly smtp?: string;
  readonly to?: readonly string[];
  readonly more?: Readonly<Record<string, unknown>>;
  readonly store?: Store;
}

export interface AskShape extends CallShape {
  readonly material?: readonly MaterialField[];
  readonly note?: string;
  readonly deadlineMs?: number;
}

export async function notifyStage(kind: Store['kind'] = 'sqlite', policy = POLICY): Promise<NotifyStage> {
  const clock = testClock();
  const fresh = await freshStore(kind, kind === 'sqlite' ? { clock: clock.nowMs } : {});
  const { store } = fresh;
  const ledger = createLedger(store, { defaultTrust: 'namespace' });
  const active = await activate(ledger, policy);
  const [slack, teams, pager] = [await startReceiver(), await startReceiver(), await startReceiver()];
  const relays: OutboxRelay[] = [];
  const open = async () =>
    store.db
      .selectFrom('deliveries')
      .select(['endpoint', 'position', 'attempts', 'due_at', 'last_error'])
      .where('delivered_at', 'is', null)
      .where('given_up_at', 'is', null)
      .where((eb) => eb.or([eb('due_at', '<=', clock.nowMs()), eb('attempts', '>', 0)]))
      .execute();
  const due = async () => (await open()).length;
  return {
    ...{ fresh, ledger, clock, slack, teams, pager, due },
    relay: async (settings, more = {}) => {
      const notify = await settingsOf(settings, { slack, teams, pager });
      const at = settings.store ?? store;
      const notices = noticeEndpoints({ notify, store: at, log: fresh.log });
      const common = { store: at, log: fresh.log, pollMs: 10, retryMs: 10, drainMs: 1_000, ...more };
      const relay = startOutboxRelay({ ...common, endpoints: [], notices });
      relays.push(relay);
      await eventually(async () => {
        const known = await store.db.selectFrom('endpoints').select('endpoint').execute();
        expect(known.map(({ endpoint }) => endpoint)).toEqual(expect.arrayContaining(notices.map(({ id }) => id)));
      });
      return relay;
    },
    ask: (shape = {}) => ask(ledger, active, shape),
    answer: async ({ call, request }, answer, reason) => {
      const decision = decisionFor(request, answer, reason === undefined ? {} : { reason });
      expect((await ledger.recordDecision(decision, call.ref.workflowId)).verdict.code).toBe('accepted');
    },
    allowInEmergency: async ({ call, request }) => {
      const emergency = { rule: 'break-glass', ticket: 'INC-7' };
      const more = { reviewer: 'o1', reason: 'see https://evil.example @all', emergency };
      const { verdict } = await ledger.recordDecision(decisionFor(request, 'allow', more), call.ref.workflowId);
      expect(verdict.code).toBe('accepted');
    },
    dispatch: (call) => dispatch(ledger, active, call),
    ungated: async () => {
      const call = prepared({ requester: REQUESTER, ask: null });
      await ledger.openCalls([call.opening(active)]);
      await dispatch(ledger, active, call);
      return call;
    },
    settled: async () => {
      await eventually(async () => {
        const [newest, ...handed] = await positions(store);
        expect(handed.every((position) => position === newest)).toBe(true);
        expect(await open()).toEqual([]);
      });
    },
    deliveries: (endpoint) => deliveries(store, endpoint),
    close: async () => {
      await Promise.all(relays.map((relay) => relay.stop()));
      await Promise.all([slack, teams, pager].map((receiver) => receiver.close()));
      await fresh.remove();
    },
  };
}

async function settingsOf(
  { routes, smtp = 'smtp://127.0.0.1:1', to = ['dba@ops.example'], more = {} }: StageSettings,
  urls: Readonly<Record<'slack' | 'teams' | 'pager', WebhookReceiver>>,
) {
  const all: Readonly<Record<string, unknown>> = {
    slack: { slack: { url: '${SLACK_URL}' } },
    teams: { teams: { url: '${TEAMS_URL}' } },
    pager: { pagerduty: { routingKey: '${PD_KEY}', url: urls.pager.url } },
    mail: { email: { smtp, from: 'Holdpoint <hold@ops.example>', to } },
  };
  const used = new Set(routes.flatMap(({ channels }) => channels as string[]));
  const channels = Object.fromEntries(Object.entries(all).filter(([name]) => used.has(name)));
  const given = JSON.stringify({ channels, routes, consoleUrl: 'https://holdpoint.example', ...more });
  const env = {
    SLACK_URL: `${urls.slack.url}/T0/B0/slackcode`,
    TEAMS_URL: `${urls.teams.url}?sig=teamssig`,
    PD_KEY: ROUTING_KEY,
    SMTP_PASSWORD: 'the-password',
  };
  const read = await readNotify(given, env);
  if (!read.ok) throw new Error(read.problems.join('\n'));
  return read.notify;
}

async function ask(ledger: Ledger, active: Active, shape: AskShape): Promise<Asked> {
  const { material = [], note = null, deadlineMs, ...more } = shape;
  const of = more.ask ?? askOf();
  const deadline = deadlineMs === undefined ? of.deadline : { ...of.deadline, afterMs: deadlineMs };
  const call = prepared({ requester: REQUESTER, ...more, ask: { ...of, deadline } });
  const opening: PreparedFixture['opening'] = (at, cause) => {
    const { plan, ...rest } = call.opening(at, cause);
    if (plan.kind !== 'ask') throw new Error('a call that asks was expected');
    return { ...rest, plan: { ...plan, draft: { ...plan.draft, material, note } } };
  };
  return { call, request: await openPending(ledger, { ...call, opening }, active) };
}

async function dispatch(ledger: Ledger, active: Active, call: PreparedFixture): Promise<void> {
  const dispatched = await ledger.dispatch(call.dispatching(active));
  if (dispatched.kind !== 'dispatched') throw new Error(`not dispatched: ${JSON.stringify(dispatched)}`);
}

async function positions(store: Store): Promise<readonly number[]> {
  const newest = await store.db.selectFrom('outbox').select('position').orderBy('position', 'desc').executeTakeFirst();
  const rows = await store.db.selectFrom('endpoints').select('position').execute();
  return [newest?.position ?? 0, ...rows.map(({ position }) => position)];
}

async function deliveries(store: Store, endpoint: string): Promise<readonly DeliveryRow[]> {
  const rows = await store.db
    .selectFrom('deliveries')
    .innerJoin('outbox', 'outbox.position', 'deliveries.position')
    .select(['event_id', 'attempts', 'delivered_at', 'given_up_at', 'last_error'])
    .where('endpoint', '=', endpoint)
    .orderBy('deliveries.position')
    .execute();
  return rows.map((row) => ({
    id: row.event_id.split(':').slice(1).join(':'),
    attempts: row.attempts,
    state: row.given_up_at !== null ? 'givenUp' : row.delivered_at === null ? 'open' : 'over',
    error: row.last_error,
  }));
}
