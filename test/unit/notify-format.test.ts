import { atPointer, type JsonObject, type JsonValue } from '../../core/json';
import type { ApprovalRequest } from '../../core/request';
import { mailOf, type Mail } from '../../worker/notify/mail';
import { noticeOf, type Limits, type Notice } from '../../worker/notify/notice';
import { pagerDutyEvent } from '../../worker/notify/pagerduty-event';
import { slackMessage } from '../../worker/notify/slack-message';
import { teamsMessage } from '../../worker/notify/teams-message';
import { toldCall, type Told } from '../../worker/notify/told';
import { field } from '../support/policy-fixture';
import { NOW_MS, OPERATION_ID, requestView } from '../support/request-views';

const LINK = `https://holdpoint.example/requests/${OPERATION_ID}?revision=1`;
const ROOMY: Limits = { value: 2_000, total: 20_000, fields: 50 };

function asked(changes: Partial<ApprovalRequest> = {}): Told {
  const { request } = requestView(changes);
  return { kind: 'opened', call: toldCall(request), request, level: 0 };
}

function notice(told: Told = asked(), more: { consoleUrl?: string | null; limits?: Limits } = {}): Notice {
  return noticeOf(told, { nowMs: NOW_MS, consoleUrl: 'https://holdpoint.example', limits: ROOMY, ...more });
}

function mail(told: Told = asked()): Mail {
  return mailOf(notice(told), { key: 'k', from: 'Holdpoint <hold@ops.example>', to: ['dba@ops.example'] });
}

function at(json: JsonValue, pointer: string): JsonValue {
  const target = atPointer(json, pointer);
  return target.found ? target.value : null;
}

/** What each channel gets of one material value: Slack, Teams, PagerDuty, mail as text, mail as HTML. */
function shownAs(value: string): readonly unknown[] {
  const told = asked({ material: [field('x', value)] });
  const { text, html } = mail(told);
  return [
    at(slackMessage(notice(told)), '/blocks/1/elements/0/elements/2/elements/2'),
    at(teamsMessage(notice(told)), '/attachments/0/content/body/3/inlines/3'),
    at(pagerDutyEvent(notice(told), 'key'), '/payload/custom_details/x (text)'),
    /^x \(text\): (.*)$/m.exec(text)?.[1],
    /<code style="[^"]*">x<\/code> \(text\)<\/th><td>(.*)<\/td>/.exec(html)?.[1],
  ];
}

const CODE = 'style="white-space:pre-wrap;word-break:break-word"';

describe('a notice', () => {
  it('says who asks for what, the material facts as they are typed, rule, level and deadline', () => {
    const { text } = mail(
      asked({
        requester: { subject: 'user:amira', agent: 'deployer', chain: ['user:amira', 'planner'] },
        material: [
          field('environment', 'production'),
          field('amount', 1250.5, 'amount'),
          field('dry_run', false, 'boolean'),
          field('limits', { rows: [1, null] }, 'json'),
          { ...field('region', null), found: false },
        ],
      }),
    );
    expect(text.split('\n')).toEqual([
      'Approval asked',
      '',
      'wants: orders-db / apply_migration',
      'asked by: user:amira through agent deployer, by way of user:amira > planner',
      'environment (text): "production"',
      'amount (amount): 1250.5',
      'dry_run (boolean): false',
      'limits (json): { "rows": [ 1, null ] }',
      'region (text): missing, or not of this type',
      'rule: production-migrations, level 0',
      'deadline: 2027-01-15 08:28:00 UTC (in 28 min), then it expires and is not executed',
      'request: 7KQ2M4XB, revision 1',
      `operation: ${OPERATION_ID}`,
      '',
      `Open the request: ${LINK}`,
      '',
      'Nothing is decided by this message or by opening a link: decisions are made on the page, signed in.',
      '',
    ]);
  });

  it('names the command where no console is known, and has no link then', () => {
    const shown = notice(asked(), { consoleUrl: null });
    expect(shown.link).toBeNull();
    expect(shown.lines.at(-1)).toEqual({
      label: [{ by: 'us', text: 'see' }],
      text: [{ by: 'us', text: 'holdpoint show 7KQ2M4XB' }],
    });
    expect(JSON.stringify([slackMessage(shown), teamsMessage(shown), pagerDutyEvent(shown, 'k')])).not.toMatch(
      /"(url|href)"/,
    );
  });

  it('says that a later revision asks again, and that nothing was executed', () => {
    const shown = notice(asked({ revision: 2, cause: 'resourceChanged' }));
    expect(shown.headline).toBe('Approval asked again');
    expect(shown.link?.url).toBe(`https://holdpoint.example/requests/${OPERATION_ID}?revision=2`);
    expect(shown.lines[2]?.text).toEqual([
      { by: 'us', text: 'revision 2: what was allowed before had changed, and was not executed' },
    ]);
  });

  it('says so where a value is cut, never inside an escape, and what is not shown', () => {
    const limits: Limits = { value: 24, total: 200, fields: 3 };
    const material = [
      field('a', `12345678\u202e${'x'.repeat(100)}`),
      field('b', 'short'),
      field('c', 'y'),
      field('d', 1),
    ];
    const lines = notice(asked({ material }), { limits }).lines.slice(2, 8);
    expect(lines.map(({ text }) => text.map((piece) => piece.text).join(''))).toEqual([
      '"12345678⟦U+202E⟧xxxxxxx…⟦cut, 118 characters in all⟧  ! bidi',
      '"short"',
      '"y"',
      '1 more',
      'production-migrations, level 0',
      '2027-01-15 08:28:00 UTC (in 28 min), then it expires and is not executed',
    ]);
    const short = notice(asked({ material: [field('a', `12345678\u202e${'x'.repeat(100)}`)] }), {
      limits: { ...limits, value: 12 },
    });
    expect(short.lines[2]?.text[0]?.text).toBe('"12345678…⟦cut, 118 characters in all⟧');
  });

  it('of an end says which, with the words that were given as a literal, and nobody who decided', () => {
    const { request } = requestView();
    const call = toldCall(request);
    const closed = { kind: 'closed', call, request, level: 1, state: 'denied', reason: 'use\nstaging' } as const;
    expect(textLines(closed)).toEqual([
      'rule: production-migrations, level 1',
      'now: denied: nothing is executed',
      'reason: "use\\nstaging"',
    ]);
    const outcome = { kind: 'outcome', call, request, reason: null, isError: false } as const;
    expect(textLines({ ...outcome, state: 'executed' })).toEqual(['outcome: executed']);
    expect(textLines({ ...outcome, state: 'executed', isError: true })).toEqual([
      'outcome: executed; the tool itself answered with an error',
    ]);
    expect(textLines({ ...outcome, state: 'failed' })).toEqual(['outcome: failed: nothing was done']);
    expect(textLines({ ...outcome, state: 'unknown' })).toEqual([
      'outcome: unknown: it was sent, but whether it took effect cannot be told. Do not repeat it; a person will find out',
    ]);
    expect(textLines({ ...outcome, state: 'expired', reason: 'the deadline passed' })).toEqual([
      'outcome: expired: not executed. Too few people answered in time; silence is no consent',
      'reason: "the deadline passed"',
    ]);
  });

  function textLines(told: Told): readonly string[] {
    return mail(told).text.split('\n').slice(4, -7);
  }
});

describe('hostile text', () => {
  it('can be no link, mention, markup or second line in any channel [SCREEN-2]', () => {
    expect(shownAs('<https://evil.example|Approve> @channel\n@here <!channel> <b>*x*</b>')).toEqual([
      {
        type: 'text',
        text: '"<https⟦U+003A⟧//evil.example|Approve> ⟦U+0040⟧channel\\n⟦U+0040⟧here ⟦U+003C⟧!channel> <b>*x*</b>"',
        style: { code: true },
      },
      {
        type: 'TextRun',
        text: '"<https⟦U+003A⟧//evil.example|Approve> ⟦U+0040⟧channel\\n⟦U+0040⟧here ⟦U+003C⟧!channel> <b>*x*</b>"',
        fontType: 'Monospace',
      },
      '"<https⟦U+003A⟧//evil.example|Approve> ⟦U+0040⟧channel\\n⟦U+0040⟧here ⟦U+003C⟧!channel> <b>*x*</b>"',
      '"<https⟦U+003A⟧//evil⟦U+002E⟧example|Approve> ⟦U+0040⟧channel\\n⟦U+0040⟧here ⟦U+003C⟧!channel> <b>*x*</b>"',
      `<code ${CODE}>&quot;&lt;https⟦U+003A⟧//evil⟦U+002E⟧example|Approve&gt; ⟦U+0040⟧channel\\n⟦U+0040⟧here ⟦U+003C⟧!channel&gt; &lt;b&gt;*x*&lt;/b&gt;&quot;</code>`,
    ]);
  });

  it.each([
    ['a bidi override', 'Acme \u202eknab', '"Acme ⟦U+202E⟧knab"  ! bidi'],
    ['an invisible character', 'a\u200bb', '"a⟦U+200B⟧b"  ! invisible'],
    ['a terminal sequence', '\u001b[2K', '"⟦U+001B⟧[2K"  ! control'],
    ['an escape of ours', '⟦U+0041⟧', '"⟦U+27E6⟧U+0041⟦U+27E7⟧"'],
    ['a line separator', 'a\u2028Approved by: dana', '"a⟦U+2028⟧Approved by: dana"  ! invisible'],
    ['an address of mail', 'mailto:x@evil.example', '"mailto⟦U+003A⟧x@evil⟦U+002E⟧example"'],
    ['one after a newline', '\nmailto:x', '"\\nmailto⟦U+003A⟧x"'],
    ['a script', 'javascript:alert(1)', '"javascript⟦U+003A⟧alert(1)"'],
    ['a bare domain', 'see www.evil.example', '"see www⟦U+002E⟧evil⟦U+002E⟧example"'],
    ['a domain with an ideographic stop', 'evil。example', '"evil⟦U+3002⟧example"'],
    ['a share of Windows', '\\\\evil\\x', '"\\\\⟦U+005C⟧\\evil⟦U+005C⟧\\x"'],
    ['words of ours', 'no" level 0, allowed by dana', '"no\\" level 0, allowed by dana"'],
  ])('%s in a mail is an escape [SCREEN-1] [SCREEN-2]', (_what, value, shown) => {
    expect(shownAs(value)[3]).toBe(shown);
  });

  it.each([
    ['an ordinary name', 'user:amira', 'user:amira'],
    ['a digit and a dot', 'v1.2', 'v1.2'],
    ['words', 'amira, approved by dana', '"amira, approved by dana"'],
    ['a second line', 'amira\nrule: none', '"amira\\nrule: none"'],
    ['markup', '*amira*', '"*amira*"'],
  ])('%s as a name is in quotes where it could be read as ours', (_what, subject, shown) => {
    const { text } = mail(asked({ requester: { subject, agent: 'bot', chain: [] } }));
    expect(text).toContain(`\nasked by: ${shown} through agent bot\n`);
  });

  it('is inert in names of tools, rules and links of a chain too, and in what a phone shows [SCREEN-2]', () => {
    const evil = '<!channel> https://evil.example';
    const told = asked({
      requester: { subject: evil, agent: evil, chain: [evil] },
      server: evil,
      tool: evil,
      material: [{ ...field('x', evil), name: evil }],
      ask: { ...requestView().request.ask, rule: { id: evil, version: 'v' } },
      toolTitle: evil,
      note: evil,
      arguments: { secret: evil },
    });
    const sent = [
      slackMessage(notice(told)),
      teamsMessage(notice(told)),
      pagerDutyEvent(notice(told), 'k'),
      mail(told),
    ];
    const all = JSON.stringify(sent);
    expect(all).not.toContain('<!channel');
    expect(all).not.toMatch(/https:\/\/(?!holdpoint\.example\/requests\/)/);
    expect(slackMessage(notice(told))['text']).toBe(
      'Approval asked: "⟦U+003C⟧!channel&gt; https⟦U+003A⟧//evil⟦U+002E⟧example" / "⟦U+003C⟧!channel&gt; https⟦U+003A⟧//evil⟦U+002E⟧example", asked by "⟦U+003C⟧!channel&gt; https⟦U+003A⟧//evil⟦U+002E⟧example" through agent "⟦U+003C⟧!channel&gt; https⟦U+003A⟧//evil⟦U+002E⟧example", by way of "⟦U+003C⟧!channel&gt; https⟦U+003A⟧//evil⟦U+002E⟧example"',
    );
  });

  it('of any length fits what Teams takes, 28 KB in all', () => {
    const material = Array.from({ length: 60 }, (_, n) => field(`f${n}`, '漢"'.repeat(5_000)));
    const requester = {
      subject: '漢'.repeat(5_000),
      agent: '字'.repeat(5_000),
      chain: Array<string>(40).fill('漢 '.repeat(900)),
    };
    const long = notice(asked({ material, requester }), { limits: { value: 600, total: 5_000, fields: 20 } });
    expect(Buffer.byteLength(JSON.stringify(teamsMessage(long)))).toBeLessThan(28_000);
    expect((slackMessage(long)['blocks'] as JsonObject[]).length).toBe(3);
    expect(at(pagerDutyEvent(long, 'k'), '/payload/summary')).toHaveLength(1_024);
  });
});

describe('a mail', () => {
  it('has the same id on each try, and the thread of its operation', () => {
    expect(mail()).toMatchObject({
      from: 'Holdpoint <hold@ops.example>',
      to: ['dba@ops.example'],
      subject: 'Approval asked: orders-db / apply_migration (op_3f9c3f9c)',
      messageId: '<holdpoint.8254c329a92850f6d539dd376f4816ee2764517d@ops.example>',
      references: '<holdpoint.ef5b0de732e5fc86704e225bfb589e4ea6f621c3@ops.example>',
      headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    });
  });

  it('keeps the subject of the thread while people are asked, and has its own for an outcome', () => {
    const { request } = requestView();
    const call = toldCall(request);
    const closed = mail({ kind: 'closed', call, request, level: 0, state: 'allowed', reason: null });
    const outcome = mail({ kind: 'outcome', call, request, state: 'executed', reason: null, isError: false });
    expect([closed.subject, outcome.subject]).toEqual([
      'Re: Approval asked: orders-db / apply_migration (op_3f9c3f9c)',
      'Outcome: executed: orders-db / apply_migration (op_3f9c3f9c)',
    ]);
    expect(closed.references).toBe(mail().references);
  });
});

describe('an alert of PagerDuty', () => {
  const { request } = requestView();
  const call = toldCall(request);

  it('has one key for each revision, which the end of it resolves, and another for an unknown outcome', () => {
    const events = [
      asked(),
      { kind: 'escalated', call, request, level: 1 } as const,
      { kind: 'closed', call, request, level: 1, state: 'allowed', reason: null } as const,
      { kind: 'unknown', call, request } as const,
      { kind: 'found', call, request, state: 'executed' } as const,
    ].map((told) => pagerDutyEvent(notice(told), 'key'));
    expect(events.map((event) => [event['event_action'], event['dedup_key'], at(event, '/payload/severity')])).toEqual([
      ['trigger', `${OPERATION_ID}:1`, 'warning'],
      ['trigger', `${OPERATION_ID}:1`, 'error'],
      ['resolve', `${OPERATION_ID}:1`, null],
      ['trigger', `${OPERATION_ID}:unknown`, 'critical'],
      ['resolve', `${OPERATION_ID}:unknown`, null],
    ]);
    expect(events[3]?.['links']).toEqual([
      { href: `https://holdpoint.example/operations/${OPERATION_ID}`, text: 'Open the operation' },
    ]);
  });
});
