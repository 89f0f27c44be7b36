import parse from 'parse-prometheus-text-format';
import { createMetricsReader } from '../../console/metrics/read-metrics';
import { decisionFor, openPending, prepared } from '../support/ledger-fixture';
import { SCRAPE_TOKEN, startDrivenConsole, type DrivenConsole } from '../support/driven-console';
import { namesOf, samplesOf } from '../support/metric-samples';
import { recordedLog } from '../support/recorded-log';

const T0 = Date.UTC(2026, 0, 1, 10);
const DELETES = 'rule="production-migrations",server="orders-db",tool="delete_rows"';
const DROPS = 'rule="production-migrations",server="orders-db",tool="drop_table"';
const TRUNCATES = 'rule="production-migrations",server="orders-db",tool="truncate"';
const ASKED = 'rule="",server="mail",tool="send"';
const SENT = {
  deletes: 'server="orders-db",tool="delete_rows"',
  drops: 'server="orders-db",tool="drop_table"',
  truncates: 'server="orders-db",tool="truncate"',
  reads: 'server="mail",tool="read"',
} as const;

let served: DrivenConsole;
let text: string;

beforeAll(async () => {
  served = await startDrivenConsole(T0);
  text = await (await served.scrape()).text();
});
afterAll(() => served.close());

/** A reader of its own, which keeps no answer. */
const freshReader = () => {
  let elapsedMs = 0;
  return createMetricsReader({ ledger: served.ledger, log: recordedLog(), elapsedMs: () => (elapsedMs += 5_000) });
};

describe('what /metrics gives', () => {
  it('is each number of the ledger that was driven, where it is not zero', () => {
    const found = [...samplesOf(text)].filter(([name, value]) => value !== 0 && !name.includes('_bucket'));
    expect(Object.fromEntries(found)).toEqual({
      holdpoint_ledger_up: 1,
      [`holdpoint_requests_opened_total{${DELETES},cause="first"}`]: 6,
      [`holdpoint_requests_opened_total{${DROPS},cause="first"}`]: 2,
      [`holdpoint_requests_opened_total{${DROPS},cause="resourceChanged"}`]: 1,
      [`holdpoint_requests_opened_total{${TRUNCATES},cause="first"}`]: 1,
      [`holdpoint_requests_opened_total{${ASKED},cause="first"}`]: 1,
      [`holdpoint_requests_closed_total{${DELETES},outcome="allowed"}`]: 3,
      [`holdpoint_requests_closed_total{${DELETES},outcome="denied"}`]: 1,
      [`holdpoint_requests_closed_total{${DELETES},outcome="expired"}`]: 1,
      [`holdpoint_requests_closed_total{${DROPS},outcome="allowed"}`]: 2,
      [`holdpoint_requests_closed_total{${DROPS},outcome="withdrawn"}`]: 1,
      [`holdpoint_requests_closed_total{${TRUNCATES},outcome="allowed"}`]: 1,
      [`holdpoint_requests_escalated_total{${DELETES}}`]: 1,
      [`holdpoint_requests_escalated_total{${TRUNCATES}}`]: 1,
      [`holdpoint_requests_stale_total{${DROPS},cause="resourceChanged"}`]: 1,
      [`holdpoint_requests_repeated_total{${DELETES}}`]: 2,
      [`holdpoint_requests_after_denial_total{${DELETES}}`]: 1,
      [`holdpoint_decisions_total{${DELETES},answer="allow",channel="cli"}`]: 1,
      [`holdpoint_decisions_total{${DELETES},answer="allow",channel="console"}`]: 2,
      [`holdpoint_decisions_total{${DELETES},answer="deny",channel="console"}`]: 1,
      [`holdpoint_decisions_total{${DROPS},answer="allow",channel="console"}`]: 2,
      [`holdpoint_decisions_total{${TRUNCATES},answer="allow",channel="console"}`]: 1,
      'holdpoint_decisions_not_counted_total{cause="notAReviewer"}': 1,
      'holdpoint_decisions_not_counted_total{cause="malformed"}': 1,
      'holdpoint_calls_refused_total{cause="TOOL_UNKNOWN"}': 1,
      'holdpoint_calls_not_asked_total{cause="noRule"}': 1,
      'holdpoint_calls_not_asked_total{cause="grant"}': 1,
      [`holdpoint_operations_sent_total{${SENT.deletes}}`]: 3,
      [`holdpoint_operations_sent_total{${SENT.drops}}`]: 1,
      [`holdpoint_operations_sent_total{${SENT.truncates}}`]: 2,
      [`holdpoint_operations_sent_total{${SENT.reads}}`]: 1,
      [`holdpoint_operations_total{${SENT.deletes},outcome="executed"}`]: 2,
      [`holdpoint_operations_total{${SENT.deletes},outcome="failed"}`]: 1,
      [`holdpoint_operations_total{${SENT.drops},outcome="unknown"}`]: 1,
      [`holdpoint_operations_total{${SENT.truncates},outcome="executed"}`]: 1,
      [`holdpoint_operations_total{${SENT.reads},outcome="executedWithError"}`]: 1,
      [`holdpoint_failures_after_approval_total{${SENT.deletes},outcome="failed"}`]: 1,
      [`holdpoint_failures_after_approval_total{${SENT.drops},outcome="unknown"}`]: 1,
      [`holdpoint_settlements_total{${SENT.drops},outcome="executed"}`]: 1,
      [`holdpoint_look_ups_total{${SENT.deletes},outcome="absent"}`]: 1,
      [`holdpoint_look_ups_total{${SENT.deletes},outcome="executed"}`]: 1,
      'holdpoint_decision_latency_seconds_sum{rule="production-migrations",answer="allow"}': 7706,
      'holdpoint_decision_latency_seconds_count{rule="production-migrations",answer="allow"}': 6,
      'holdpoint_decision_latency_seconds_sum{rule="production-migrations",answer="deny"}': 20,
      'holdpoint_decision_latency_seconds_count{rule="production-migrations",answer="deny"}': 1,
      [`holdpoint_requests_pending{${DELETES}}`]: 1,
      [`holdpoint_requests_pending{${ASKED}}`]: 1,
      holdpoint_requests_pending_oldest_seconds: 300,
      holdpoint_operations_in_flight: 1,
      [`holdpoint_grants_live{${SENT.truncates}}`]: 1,
      'holdpoint_deliveries{outcome="waiting"}': 28,
      'holdpoint_deliveries{outcome="delivered"}': 1,
      'holdpoint_deliveries{outcome="givenUp"}': 1,
      'holdpoint_delivery_results_total{channel="webhook",outcome="delivered"}': 1,
      'holdpoint_delivery_results_total{channel="webhook",outcome="givenUp"}': 1,
      holdpoint_audit_records_total: 70,
    });
  });

  it('counts times to decide in classes that hold what is below them, too', () => {
    const bucket = (le: string) =>
      samplesOf(text).get(
        `holdpoint_decision_latency_seconds_bucket{rule="production-migrations",answer="allow",le="${le}"}`,
      );
    const bounds = ['5', '15', '30', '60', '120', '300', '600', '1200', '1800', '3600', '7200', '14400'];
    expect(bounds.map(bucket)).toEqual([2, 3, 3, 3, 4, 4, 5, 5, 5, 5, 6, 6]);
    expect(['28800', '86400', '259200', '+Inf'].map(bucket)).toEqual([6, 6, 6, 6]);
  });

  it('is read by a parser of the format: each name once, with its help and type', () => {
    const families = parse(text);
    const names = families.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(families.filter(({ help }) => !/^[A-Z].*[.]$/.test(help))).toEqual([]);
    const types = families.map(({ name, type }) => [/_total$/.test(name), /_seconds$/.test(name), type].join(' '));
    expect([...new Set(types)].sort()).toEqual([
      'false false GAUGE',
      'false true GAUGE',
      'false true HISTOGRAM',
      'true false COUNTER',
    ]);
  });

  it('has a counter as 0 before its first one, so that its first one is a rise', () => {
    const samples = samplesOf(text);
    expect(samples.get(`holdpoint_failures_after_approval_total{server="mail",tool="send",outcome="unknown"}`)).toBe(0);
    expect(samples.get(`holdpoint_requests_closed_total{${TRUNCATES},outcome="expired"}`)).toBe(0);
    expect(samples.get('holdpoint_operations_unknown')).toBe(0);
  });

  it('has no label but rule, server, tool, answer, channel, outcome and cause, and no person, id or text in one', () => {
    const labels = new Set([...namesOf(text).values()].flatMap((names) => [...names]));
    const known = ['rule', 'server', 'tool', 'answer', 'channel', 'outcome', 'cause', 'le'];
    expect([...labels].filter((label) => !known.includes(label))).toEqual([]);
    const values = [...samplesOf(text).keys()].flatMap((each) => [...each.matchAll(/(?<![{,]le)="([^"]*)"/g)]);
    expect([...new Set(values.map(([, value]) => value))].sort()).toEqual([
      ...[
        '',
        'TOOL_UNKNOWN',
        'absent',
        'agrees',
        'allow',
        'allowed',
        'cli',
        'console',
        'delete_rows',
        'delivered',
        'denied',
      ],
      ...[
        'deny',
        'differs',
        'drop_table',
        'executed',
        'executedWithError',
        'expired',
        'failed',
        'first',
        'givenUp',
        'grant',
      ],
      ...['mail', 'malformed', 'noRule', 'notAReviewer', 'orders-db', 'production-migrations', 'read', 'refused'],
      ...['resourceChanged', 'send', 'truncate', 'unknown', 'waiting', 'webhook', 'withdrawn'],
    ]);
  });
});

describe('a counter', () => {
  it('only rises, by what happened since, and is the same for whoever reads the ledger', async () => {
    const [followed, before] = [freshReader(), samplesOf(text)];
    expect(samplesOf(await followed())).toEqual(before);
    const call = prepared({ arguments: { id: 6 } });
    const active = (await served.ledger.activePolicy())!;
    const request = await openPending(served.ledger, call, active);
    served.clock.nowMs += 15_000;
    await served.ledger.recordDecision(decisionFor(request, 'deny'), call.ref.workflowId);
    const after = samplesOf(await followed());
    const risen = [...after].filter(
      ([name, value]) => /_(total|bucket|count|sum)\b/.test(name) && value !== before.get(name),
    );
    const denied = 'rule="production-migrations",answer="deny"';
    const bounds = ['15', '30', '60', '120', '300', '600', '1200', '1800', '3600', '7200', '14400', '28800'];
    expect(Object.fromEntries(risen)).toEqual({
      [`holdpoint_requests_opened_total{${DELETES},cause="first"}`]: 7,
      [`holdpoint_requests_closed_total{${DELETES},outcome="denied"}`]: 2,
      [`holdpoint_decisions_total{${DELETES},answer="deny",channel="update"}`]: 1,
      ...Object.fromEntries(
        [...bounds, '86400', '259200', '+Inf'].map((le) => [
          `holdpoint_decision_latency_seconds_bucket{${denied},le="${le}"}`,
          Number(le) < 20 ? 1 : 2,
        ]),
      ),
      [`holdpoint_decision_latency_seconds_sum{${denied}}`]: 35,
      [`holdpoint_decision_latency_seconds_count{${denied}}`]: 2,
      holdpoint_audit_records_total: 74,
    });
    expect(samplesOf(await freshReader()())).toEqual(after);
  });

  it('keeps what it was while what was allowed goes on to be withdrawn', async () => {
    const [followed, call] = [freshReader(), prepared({ arguments: { id: 7 } })];
    const request = await openPending(served.ledger, call, (await served.ledger.activePolicy())!);
    await served.ledger.recordDecision(decisionFor(request, 'allow'), call.ref.workflowId);
    const allowed = `holdpoint_requests_closed_total{${DELETES},outcome="allowed"}`;
    expect(samplesOf(await followed()).get(allowed)).toBe(4);
    await served.ledger.withdraw(call.ref.operationId, 'not needed any more');
    const after = samplesOf(await followed());
    expect([after.get(allowed), after.get(allowed.replace('allowed', 'withdrawn'))]).toEqual([4, 1]);
  });
});

describe('who asks for /metrics', () => {
  it('is given it by the token of the scraper, and by an API token of an operator', async () => {
    for (const answer of [await served.scrape(), await served.as('omar', '/metrics')]) {
      expect([answer.status, answer.headers.get('content-type'), answer.headers.get('cache-control')]).toEqual([
        200,
        'text/plain; version=0.0.4; charset=utf-8',
        'no-store',
      ]);
    }
  });

  it('is refused without a token, with another one, and as somebody who is no operator', async () => {
    const wrong = [
      '',
      'Bearer ',
      `Basic ${SCRAPE_TOKEN}`,
      `Bearer ${SCRAPE_TOKEN}x`,
      `Bearer ${SCRAPE_TOKEN.slice(1)}`,
    ];
    for (const authorization of wrong) {
      const answer = await served.scrape(authorization);
      expect([authorization, answer.status, answer.headers.get('www-authenticate')]).toEqual([
        authorization,
        401,
        'Bearer',
      ]);
      expect(await answer.text()).not.toContain('holdpoint_');
    }
    for (const person of ['r1', 'vik', 'nobody']) {
      const answer = await served.as(person, '/metrics');
      expect([person, answer.status]).toEqual([person, person === 'nobody' ? 401 : 404]);
      expect(await answer.text()).not.toContain('holdpoint_');
    }
  });

  it('cannot do anything else with the token of the scraper', async () => {
    const headers = { authorization: `Bearer ${SCRAPE_TOKEN}` };
    for (const path of ['/api/v1/me', '/api/v1/requests', '/api/v1/reports', '/reports']) {
      const answer = await fetch(served.url + path, { headers, redirect: 'manual' });
      expect([path, answer.status]).toEqual([path, path.startsWith('/api') ? 401 : 303]);
    }
  });

  it('is told that the ledger is away, and no number of which a scraper would think that it is zero', async () => {
    const read = freshReader();
    served.store.down = true;
    const away = await read();
    served.store.down = false;
    expect(Object.fromEntries(samplesOf(away))).toEqual({ holdpoint_ledger_up: 0 });
    expect(samplesOf(await read()).get('holdpoint_ledger_up')).toBe(1);
  });

  it('who asks again within 5 s reads the ledger no second time', async () => {
    let elapsedMs = 0;
    const reader = createMetricsReader({ ledger: served.ledger, log: recordedLog(), elapsedMs: () => elapsedMs });
    const [first, second] = await Promise.all([reader(), reader()]);
    served.store.down = true;
    elapsedMs = 4_999;
    expect([second, await reader()]).toEqual([first, first]);
    elapsedMs = 5_000;
    expect(samplesOf(await reader()).get('holdpoint_ledger_up')).toBe(0);
    served.store.down = false;
  });
});
