import { ORDERS_POLICY, edited, problemsOf } from '../support/policy-fixture';

interface Row {
  readonly name: string;
  readonly edits: readonly (readonly [from: string, to: string])[];
  readonly problems: readonly string[];
}

const ROWS: readonly Row[] = [
  {
    name: 'one key of two people',
    edits: [['AAE]', 'AAA]']],
    problems: [
      '3:42 POLICY_DUPLICATE_NAME eli and dana both have "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA": it must belong to one person [Remove it from one of them.]',
    ],
  },
  {
    name: 'one requester name of two people',
    edits: [['auth0|77', 'user:dana']],
    problems: [
      '4:57 POLICY_DUPLICATE_NAME amira and dana both have "user:dana": it must belong to one person [Remove it from one of them.]',
    ],
  },
  {
    name: 'a server that is not there',
    edits: [['    server: orders-db\n', '    server: order-db\n']],
    problems: [
      '26:13 POLICY_UNKNOWN_NAME rule production-migrations: "order-db" is not in "servers"; known: orders-db [Did you mean "orders-db"?]',
    ],
  },
  {
    name: 'a server that is like no other',
    edits: [['    server: orders-db\n', '    server: payments\n']],
    problems: [
      '26:13 POLICY_UNKNOWN_NAME rule production-migrations: "payments" is not in "servers"; known: orders-db [Add the server to "servers".]',
    ],
  },
  {
    name: 'a tool that is not there',
    edits: [['scope: { tools: [apply_migration] }', 'scope: { tools: [apply_migrations, wipe] }']],
    problems: [
      '27:22 POLICY_UNKNOWN_NAME rule production-migrations: orders-db has no tool "apply_migrations" in the policy; known: apply_migration [Did you mean "apply_migration"?]',
      '27:40 POLICY_UNKNOWN_NAME rule production-migrations: orders-db has no tool "wipe" in the policy; known: apply_migration [Add "wipe: {}" under its "tools".]',
    ],
  },
  {
    name: 'a material field that no tool has',
    edits: [
      ['when: { environment: { is: production } }', 'when: { enviroment: { is: production }, amount: { above: 5 } }'],
    ],
    problems: [
      '28:13 POLICY_UNKNOWN_NAME rule production-migrations: no tool in scope has a material field "enviroment"; known: environment, statement [Did you mean "environment"?]',
      '28:45 POLICY_UNKNOWN_NAME rule production-migrations: no tool in scope has a material field "amount"; known: environment, statement [Declare it under "material" of the tool.]',
    ],
  },
  {
    name: 'a condition of another type than the field',
    edits: [
      [
        'when: { environment: { is: production } }',
        'when: { environment: { oneOf: [production, 5] }, statement: { above: 5 } }',
      ],
    ],
    problems: [
      '28:26 POLICY_CONTRADICTION rule production-migrations: "environment" is of the kind text, which this condition cannot be compared with [Compare it with text.]',
      '28:65 POLICY_CONTRADICTION rule production-migrations: "statement" is of the kind sql, which this condition cannot be compared with [Compare it with text.]',
    ],
  },
  {
    name: 'a group with no members [WHO-10] [FORGE-11]',
    edits: [['approvers: { groups: [dba], quorum: 1 }', 'approvers: { groups: [night] }']],
    problems: [
      '29:27 POLICY_NO_REVIEWERS rule production-migrations: the group "night" has no members; groups with members: dba, dba-leads, platform [Add "groups: [night]" to a person.]',
    ],
  },
  {
    name: 'a group with no members beside one that has some',
    edits: [['approvers: { groups: [dba], quorum: 1 }', 'approvers: { groups: [dba, dbas] }']],
    problems: [
      '29:32 POLICY_NO_REVIEWERS rule production-migrations: the group "dbas" has no members; groups with members: dba, dba-leads, platform [Did you mean "dba"?]',
    ],
  },
  {
    name: 'people that are not there',
    edits: [['approvers: { groups: [dba], quorum: 1 }', 'approvers: { people: [danna, fay] }']],
    problems: [
      '29:27 POLICY_NO_REVIEWERS rule production-migrations: "danna" is not in "people"; known: dana, eli, amira [Did you mean "dana"?]',
      '29:34 POLICY_NO_REVIEWERS rule production-migrations: "fay" is not in "people"; known: dana, eli, amira [Add the person to "people".]',
    ],
  },
  {
    name: 'approvers that name nobody',
    edits: [['approvers: { groups: [dba], quorum: 1 }', 'approvers: {}']],
    problems: [
      '29:16 POLICY_NO_REVIEWERS rule production-migrations names no approvers: nobody could ever allow the call [Write "groups: [...]" or "people: [...]".]',
    ],
  },
  {
    name: 'a quorum over the number of people',
    edits: [['approvers: { groups: [dba], quorum: 1 }', 'approvers: { groups: [dba], people: [dana], quorum: 3 }']],
    problems: [
      '29:57 POLICY_NO_REVIEWERS rule production-migrations: quorum 3, but only 2 can approve: dana, eli [Name more people, or lower the quorum.]',
    ],
  },
  {
    name: 'escalations to nobody, out of order, and after the end',
    edits: [
      [
        'escalate: [ { after: 10m, to: { groups: [dba-leads] } } ]',
        'escalate: [ { after: 10m, to: { groups: [dba-lead] } }, { after: 5m, to: {} }, { after: 30m, to: { people: [eli] } } ]',
      ],
    ],
    problems: [
      '32:46 POLICY_NO_REVIEWERS rule production-migrations, escalation 1: the group "dba-lead" has no members; groups with members: dba, dba-leads, platform [Did you mean "dba-leads"?]',
      '32:70 POLICY_CONTRADICTION rule production-migrations: escalation 2 comes after 5m, not later than the one before it [Order them by time from the opening.]',
      '32:78 POLICY_NO_REVIEWERS rule production-migrations, escalation 2 names no approvers: nobody could ever allow the call [Write "groups: [...]" or "people: [...]".]',
      '32:93 POLICY_CONTRADICTION rule production-migrations: escalation after 30m, but the request ends after 30m [Escalate earlier, or move the deadline.]',
    ],
  },
  {
    name: 'an escalation after the end of a request that is kept waiting',
    edits: [
      ['deadline: { after: 30m, then: expire }', 'deadline: { after: 30m, then: keepWaiting }'],
      ['after: 10m', 'after: 30d'],
    ],
    problems: [
      '32:26 POLICY_CONTRADICTION rule production-migrations: escalation after 30d, but the request ends after 30d [Escalate earlier, or move the deadline.]',
    ],
  },
  {
    name: 'totals of text, and of a field that is not there',
    edits: [['validity: once', 'validity: { minutes: 60, total: { environment: 5, amount: 2 } }']],
    problems: [
      '31:39 POLICY_CONTRADICTION rule production-migrations: a total needs a number or an amount of the arguments, "environment" is of the kind text [Declare it with "as: amount".]',
      '31:55 POLICY_UNKNOWN_NAME rule production-migrations: no tool in scope has a material field "amount"; known: environment, statement [Declare it under "material" of the tool.]',
    ],
  },
  {
    name: 'a total read from the state',
    edits: [
      ['        material:\n', '        material:\n          rows: { at: /rows, as: number, from: state }\n'],
      ['validity: once', 'validity: { uses: 3, total: { rows: 5 } }'],
    ],
    problems: [
      '32:35 POLICY_CONTRADICTION rule production-migrations: a total needs a number or an amount of the arguments, "rows" is read from the state [Declare it with "as: amount".]',
    ],
  },
  {
    name: 'a total that one of the named tools does not have',
    edits: [
      ['    tools:\n', '    tools:\n      pay: { material: { amount: { at: /amount, as: amount } } }\n'],
      ['scope: { tools: [apply_migration] }', 'scope: { tools: [apply_migration, pay] }'],
      ['validity: once', 'validity: { uses: 3, total: { amount: 5 } }'],
    ],
    problems: [
      '32:35 POLICY_UNKNOWN_NAME rule production-migrations: apply_migration has no material field "amount"; known: environment, statement, amount [Declare it under "material" of the tool.]',
    ],
  },
  {
    name: 'a material binding of a named tool without material',
    edits: [
      ['    tools:\n', '    tools:\n      wipe: {}\n'],
      ['scope: { tools: [apply_migration] }', 'scope: { tools: [wipe, apply_migration] }'],
    ],
    problems: [
      '31:11 POLICY_CONTRADICTION rule production-migrations: bind: material, but wipe has no material field in its arguments: nothing would be bound [Declare "material" for the tool, or write "bind: arguments".]',
    ],
  },
  {
    name: 'a material binding where only the state has fields',
    edits: [
      ['environment: { at: /environment, as: text }', 'environment: { at: /environment, as: text, from: state }'],
      ['statement: { at: /sql, as: sql }', 'statement: { at: /sql, as: sql, from: state }'],
    ],
    problems: [
      '30:11 POLICY_CONTRADICTION rule production-migrations: bind: material, but apply_migration has no material field in its arguments: nothing would be bound [Declare "material" for the tool, or write "bind: arguments".]',
    ],
  },
  {
    name: 'an emergency rule for everything and for an hour',
    edits: [
      ['scope: { tools: [apply_migration] }', 'scope: all'],
      ['validity: once', 'validity: { minutes: 60, uses: 2 }\n    emergency: true'],
    ],
    problems: [
      '27:12 POLICY_CONTRADICTION rule production-migrations is an emergency rule: it must name its tools [Write "scope: { tools: [...] }".]',
      '31:15 POLICY_CONTRADICTION rule production-migrations is an emergency rule: it may hold at most 15 minutes or one use [Write "validity: once" or "validity: { minutes: 15 }".]',
      '33:15 POLICY_CONTRADICTION rule production-migrations is an emergency rule: it cannot escalate [Remove "escalate": those whom it names may act at once.]',
    ],
  },
  {
    name: 'an emergency rule without a limit of time',
    edits: [['validity: once', 'validity: { uses: 2 }\n    emergency: true']],
    problems: [
      '27:22 POLICY_CONTRADICTION rule production-migrations is an emergency rule: no other rule asks about orders-db/apply_migration, so there is nobody to skip [An emergency rule asks about nothing by itself; add a rule that does.]',
      '31:15 POLICY_CONTRADICTION rule production-migrations is an emergency rule: it may hold at most 15 minutes or one use [Write "validity: once" or "validity: { minutes: 15 }".]',
      '33:15 POLICY_CONTRADICTION rule production-migrations is an emergency rule: it cannot escalate [Remove "escalate": those whom it names may act at once.]',
    ],
  },
  {
    name: 'a rule id twice',
    edits: [
      [
        'rules:\n',
        'rules:\n  - { id: production-migrations, server: orders-db, scope: all, approvers: { groups: [dba] } }\n',
      ],
    ],
    problems: [
      '26:9 POLICY_DUPLICATE_NAME the rule id "production-migrations" is taken by rules[0] [Choose another id.]',
    ],
  },
  {
    name: 'a helper that is the tool itself',
    edits: [['tool: schema_version,', 'tool: apply_migration,']],
    problems: [
      '14:26 POLICY_CONTRADICTION apply_migration: version may not call apply_migration: it is the tool itself, and a helper runs without asking [Name a tool that only reads.]',
    ],
  },
  {
    name: 'helpers that are disabled, destructive, or asked about',
    edits: [
      [
        '    tools:\n',
        '    tools:\n      plan_migration: { enabled: false }\n      find_migration: { destructive: true }\n      describe_schema: { material: { environment: { at: /environment, as: text } } }\n',
      ],
      ['scope: { tools: [apply_migration] }', 'scope: { tools: [apply_migration, describe_schema] }'],
    ],
    problems: [
      '18:26 POLICY_CONTRADICTION apply_migration: preview may not call plan_migration: it is disabled [Name a tool that only reads.]',
      '19:26 POLICY_CONTRADICTION apply_migration: outcome may not call find_migration: it is destructive, and a helper runs without asking [Name a tool that only reads.]',
      '20:24 POLICY_CONTRADICTION apply_migration: state may not call describe_schema: rule production-migrations asks about it, and a helper runs without asking [Name a tool that only reads.]',
    ],
  },
  {
    name: 'a helper argument that the call does not have',
    edits: [
      [
        'describe_schema, arguments: { environment: { at: /environment } }',
        'describe_schema, arguments: { environment: { at: /operation_id } }',
      ],
    ],
    problems: [
      '17:67 POLICY_CONTRADICTION apply_migration: state reads /operation_id, which is filled by Holdpoint and not in the call [Write { fill: operationId }.]',
    ],
  },
  {
    name: 'a look-up that does not get the operation id',
    edits: [
      [
        'arguments: { operation_id: { fill: operationId } }, executed',
        'arguments: { sql: { at: /sql }, fixed: { value: 1 } }, executed',
      ],
    ],
    problems: [
      '16:53 POLICY_CONTRADICTION apply_migration: the look-up does not get the operation id; it gets sql, fixed [Add an argument { fill: operationId } to "outcome".]',
    ],
  },
  {
    name: 'a look-up with the arguments of a call that has no operation id',
    edits: [
      ['        arguments: { operation_id: { fill: operationId } }\n', ''],
      ['arguments: { operation_id: { fill: operationId } }, executed', 'executed'],
    ],
    problems: [
      `15:9 POLICY_CONTRADICTION apply_migration: the look-up does not get the operation id; it gets the call's own arguments [Add an argument { fill: operationId } to "outcome".]`,
    ],
  },
  {
    name: 'a look-up with the arguments of a call that has a secret',
    edits: [['arguments: { operation_id: { fill: operationId } }, executed', 'executed']],
    problems: [
      `16:9 POLICY_CONTRADICTION apply_migration: the look-up would get the call's own arguments, of which /password is not kept [Add "arguments: { operation_id: { fill: operationId } }" to "outcome".]`,
    ],
  },
  {
    name: 'a look-up by a secret, and by what holds one',
    edits: [
      [
        'arguments: { operation_id: { fill: operationId } }, executed',
        'arguments: { id: { fill: operationId }, a: { at: /password/x }, b: { at: /passwords } }, executed',
      ],
    ],
    problems: [
      '16:85 POLICY_CONTRADICTION apply_migration: the look-up reads /password/x, which holds a secret and is not kept [Look up by other arguments.]',
    ],
  },
  {
    name: 'material that Holdpoint fills',
    edits: [['statement: { at: /sql, as: sql }', 'statement: { at: /operation_id/x, as: sql }']],
    problems: [
      '13:28 POLICY_CONTRADICTION apply_migration: /operation_id/x is filled by Holdpoint, so it is no material that a person could approve [Remove the material field.]',
    ],
  },
  {
    name: 'material of a state that is not read',
    edits: [
      ['statement: { at: /sql, as: sql }', 'statement: { at: /sql, as: sql, from: state }'],
      ['        state: {', '        # state: {'],
    ],
    problems: [
      '13:49 POLICY_CONTRADICTION apply_migration: "statement" comes from the state, but the tool has no "state" read [Add "state: { tool: … }", or remove "from: state".]',
    ],
  },
  {
    name: 'access to a server that is not there, for a group with no members',
    edits: [
      ['subjects: [group:platform]', 'subjects: [group:plattform]'],
      [`server: orders-db, tools: ['*'] }`, `server: order-db, tools: ['*'] }`],
    ],
    problems: [
      '23:18 POLICY_NO_REVIEWERS access[0]: the group "plattform" has no members; groups with members: dba, dba-leads, platform [Did you mean "platform"?]',
      '23:59 POLICY_UNKNOWN_NAME access[0]: "order-db" is not in "servers"; known: orders-db [Did you mean "orders-db"?]',
    ],
  },
  {
    name: 'an access condition on a field that no tool has',
    edits: [[`tools: ['*'] }`, `tools: ['*'], when: { enviroment: { is: x }, statement: { above: 5 } } }`]],
    problems: [
      '23:91 POLICY_UNKNOWN_NAME access[0]: no tool in scope has a material field "enviroment"; known: environment, statement [Did you mean "environment"?]',
      '23:125 POLICY_CONTRADICTION access[0]: "statement" is of the kind sql, which this condition cannot be compared with [Compare it with text.]',
    ],
  },
  {
    name: 'an access condition on a tool without an entry',
    edits: [[`tools: ['*'] }`, 'tools: [read_rows], when: { environment: { is: x } } }']],
    problems: [
      '23:97 POLICY_UNKNOWN_NAME access[0]: no tool in scope has a material field "environment"; known: none [Declare it under "material" of the tool.]',
    ],
  },
  {
    name: 'a broken server once, and not as unknown',
    edits: [
      ['    http: {', '    htp: {'],
      ['scope: { tools: [apply_migration] }', 'scope: { tools: [wipe] }'],
    ],
    problems: [
      '7:5 POLICY_UNKNOWN_KEY servers.orders-db.htp is not a key here; allowed: http, stdio, hints, session, enabled, tools [Did you mean "http"?]',
    ],
  },
  {
    name: 'a broken tool once, and nothing that depends on it',
    edits: [
      ['classification: customer-data', 'clasification: customer-data'],
      ['when: { environment: { is: production } }', 'when: { amount: { above: 5 } }'],
    ],
    problems: [
      '18:9 POLICY_UNKNOWN_KEY servers.orders-db.tools.apply_migration.clasification is not a key here; allowed: enabled, arguments, material, version, preview, state, outcome, idempotent, classification, reversible, expected, secrets, timeout, destructive [Did you mean "classification"?]',
    ],
  },
  {
    name: 'a broken person once, and no group as empty',
    edits: [
      ['eli: { groups', 'eli: { group'],
      ['approvers: { groups: [dba], quorum: 1 }', 'approvers: { groups: [night], quorum: 9 }'],
    ],
    problems: [
      '3:10 POLICY_UNKNOWN_KEY people.eli.group is not a key here; allowed: groups, key, subjects [Did you mean "groups"?]',
    ],
  },
  {
    name: 'a section of another type once',
    edits: [
      ['servers:\n', 'servers: []\nolder:\n'],
      ['access:\n  - ', 'access: {}\nelder:\n  - '],
    ],
    problems: [
      '5:10 POLICY_WRONG_TYPE servers must be a mapping, not a list',
      '6:1 POLICY_UNKNOWN_KEY older is not a key here; allowed: version, trust, people, console, servers, access, rules',
      '23:9 POLICY_WRONG_TYPE access must be a list, not a mapping',
      '24:1 POLICY_UNKNOWN_KEY elder is not a key here; allowed: version, trust, people, console, servers, access, rules',
    ],
  },
];

test.each(ROWS)('refuses $name', ({ edits, problems }) => {
  expect(problemsOf(edited(ORDERS_POLICY, ...edits))).toEqual(problems);
});
