import { ORDERS_POLICY, edited, problemsOf } from '../support/policy-fixture';

interface Row {
  readonly name: string;
  readonly edits: readonly (readonly [from: string, to: string])[];
  readonly problems: readonly string[];
}

const ROWS: readonly Row[] = [
  {
    name: 'a public key of another form, without repeating it',
    edits: [['key: ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'key: ed25519:short']],
    problems: [
      '2:31 POLICY_BAD_VALUE people.dana.key must be "ed25519:" and 32 bytes in base64url [holdpoint key new prints it.]',
    ],
  },
  {
    name: 'a public key whose last character has bits to spare',
    edits: [['AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE', 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB']],
    problems: [
      '3:42 POLICY_BAD_VALUE people.eli.key[0] must be "ed25519:" and 32 bytes in base64url [holdpoint key new prints it.]',
    ],
  },
  {
    name: 'an unknown key of a person',
    edits: [['dana: { groups: [dba],', 'dana: { group: [dba],']],
    problems: [
      '2:11 POLICY_UNKNOWN_KEY people.dana.group is not a key here; allowed: groups, key, subjects [Did you mean "groups"?]',
    ],
  },
  {
    name: 'a name of a person with a space',
    edits: [['  dana:', '  "da na":']],
    problems: [
      '2:3 POLICY_BAD_VALUE the name "da na" must be 1 to 64 letters, digits, or . _ @ + - and begin with a letter or digit',
    ],
  },
  {
    name: 'a text where a list belongs',
    edits: [['groups: [platform]', 'groups: platform']],
    problems: ['4:20 POLICY_WRONG_TYPE people.amira.groups must be a list, not "platform" [Write a list: [platform].]'],
  },
  {
    name: 'a subject that looks like a pattern',
    edits: [[`'user:amira'`, `'group:x'`]],
    problems: [
      '4:43 POLICY_BAD_VALUE people.amira.subjects[0] must be 1 to 200 characters without spaces, not "*" and not "group:…"; received "group:x"',
    ],
  },
  {
    name: 'an address that is not HTTP',
    edits: [['http://127.0.0.1:4100/mcp', 'ftp://x']],
    problems: ['7:18 POLICY_BAD_VALUE servers.orders-db.http.url must be an http:// or https:// address'],
  },
  {
    name: 'an address that is none',
    edits: [['http://127.0.0.1:4100/mcp', 'orders-db']],
    problems: ['7:18 POLICY_BAD_VALUE servers.orders-db.http.url must be an http:// or https:// address'],
  },
  {
    name: 'an address with a password, without repeating it',
    edits: [['http://127.0.0.1:4100/mcp', 'http://u:hunter2@x/']],
    problems: [
      '7:18 POLICY_BAD_VALUE servers.orders-db.http.url may not hold a user, a password or a "#" [Send credentials in "headers", as ${NAME}.]',
    ],
  },
  {
    name: 'a reference where none is read',
    edits: [['http://127.0.0.1:4100/mcp', '"http://x/${A}"']],
    problems: [
      '7:18 POLICY_BAD_VALUE servers.orders-db.http.url may not hold ${…} [References are read in headers, env and database only.]',
    ],
  },
  {
    name: 'a credential in the authorization header, without repeating it',
    edits: [["'Bearer ${ORDERS_TOKEN}'", 'Bearer hunter2']],
    problems: [
      '7:71 POLICY_BAD_VALUE servers.orders-db.http.headers.Authorization holds what looks like a credential; a policy is stored and shown, so it may not hold one [Put the value into the environment of the worker and write ${AUTHORIZATION} here.]',
    ],
  },
  {
    name: 'a credential in the environment of a server',
    edits: [
      [
        "http: { url: http://127.0.0.1:4100/mcp, headers: { Authorization: 'Bearer ${ORDERS_TOKEN}' } }",
        'stdio: { command: node, env: { ORDERS_API_KEY: hunter2 } }',
      ],
    ],
    problems: [
      '7:52 POLICY_BAD_VALUE servers.orders-db.stdio.env.ORDERS_API_KEY holds what looks like a credential; a policy is stored and shown, so it may not hold one [Put the value into the environment of the worker and write ${ORDERS_API_KEY} here.]',
    ],
  },
  {
    name: 'a broken reference, once',
    edits: [["'Bearer ${ORDERS_TOKEN}'", "'Bearer ${orders token}'"]],
    problems: [
      '7:71 POLICY_BAD_VALUE servers.orders-db.http.headers.Authorization has a broken reference [A reference is ${NAME}, of letters, digits and _.]',
    ],
  },
  {
    name: 'a control character in a header',
    edits: [["'Bearer ${ORDERS_TOKEN}'", '"Bearer ${A}\\r\\nX: 1"']],
    problems: [
      '7:71 POLICY_BAD_VALUE servers.orders-db.http.headers.Authorization must be one line of at most 8192 characters',
    ],
  },
  {
    name: 'a number and a list in the headers, without repeating them',
    edits: [['headers: { Authorization:', 'headers: { X: 5, Y: [], Authorization:']],
    problems: [
      '7:59 POLICY_WRONG_TYPE servers.orders-db.http.headers.X must be text [Put it in quotes.]',
      '7:65 POLICY_WRONG_TYPE servers.orders-db.http.headers.Y must be text',
    ],
  },
  {
    name: 'a header name with a space',
    edits: [['headers: { Authorization:', 'headers: { "X Y": "5", Authorization:']],
    problems: ['7:56 POLICY_BAD_VALUE the name "X Y" must be the name of an HTTP header'],
  },
  {
    name: 'two ways to reach a server',
    edits: [['    tools:\n', '    stdio: { command: node }\n    tools:\n']],
    problems: [
      '7:5 POLICY_BAD_VALUE servers.orders-db must say in exactly one way how to reach the server [Write either "http: { url: … }" or "stdio: { command: … }".]',
    ],
  },
  {
    name: 'no way to reach a server',
    edits: [
      [
        "http: { url: http://127.0.0.1:4100/mcp, headers: { Authorization: 'Bearer ${ORDERS_TOKEN}' } }",
        'enabled: true',
      ],
    ],
    problems: [
      '7:5 POLICY_BAD_VALUE servers.orders-db must say in exactly one way how to reach the server [Write either "http: { url: … }" or "stdio: { command: … }".]',
    ],
  },
  {
    name: 'a misspelt way to reach a server, once',
    edits: [['    http: {', '    htp: {']],
    problems: [
      '7:5 POLICY_UNKNOWN_KEY servers.orders-db.htp is not a key here; allowed: http, stdio, hints, session, enabled, tools [Did you mean "http"?]',
    ],
  },
  {
    name: 'YAML 1.1 booleans',
    edits: [
      ['    tools:\n', '    session: yes\n    enabled: yes\n    tools:\n'],
      ['classification: customer-data', 'idempotent: Off'],
    ],
    problems: [
      '8:14 POLICY_BAD_VALUE servers.orders-db.session must be one of client, independent, not "yes"',
      '9:14 POLICY_WRONG_TYPE servers.orders-db.enabled must be true or false, not "yes" [Write true: YAML 1.2 knows only true and false.]',
      '20:21 POLICY_WRONG_TYPE servers.orders-db.tools.apply_migration.idempotent must be true or false, not "Off" [Write false: YAML 1.2 knows only true and false.]',
    ],
  },
  {
    name: 'a misspelt key of a tool',
    edits: [['classification: customer-data', 'clasification: customer-data']],
    problems: [
      '18:9 POLICY_UNKNOWN_KEY servers.orders-db.tools.apply_migration.clasification is not a key here; allowed: enabled, arguments, material, version, preview, state, outcome, idempotent, classification, reversible, expected, secrets, timeout, destructive [Did you mean "classification"?]',
    ],
  },
  {
    name: 'a boolean for how reversible a tool is',
    edits: [['reversible: with-effort', 'reversible: true']],
    problems: [
      '19:21 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.reversible must be one of yes, with-effort, no, not true',
    ],
  },
  {
    name: 'a pointer without its slash, and an unknown kind',
    edits: [['/environment, as: text', 'environment, as: txt']],
    problems: [
      '12:30 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.material.environment.at must be a JSON pointer such as /environment or /items/0/id; received "environment" [Write "/environment".]',
      '12:47 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.material.environment.as must be one of text, number, amount, boolean, sql, json, timestamp, not "txt" [Did you mean "text"?]',
    ],
  },
  {
    name: 'secrets that are no pointers',
    edits: [['secrets: [/password]', `secrets: ['', '/a~2', 5]`]],
    problems: [
      '20:19 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.secrets[0] must point at one field; received ""',
      '20:23 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.secrets[1] must be a JSON pointer such as /environment or /items/0/id; received "/a~2" [Not a JSON pointer: "~" must be written "~0", and "/" inside a name "~1".]',
      '20:31 POLICY_WRONG_TYPE servers.orders-db.tools.apply_migration.secrets[2] must be text, not 5 [Put it in quotes.]',
    ],
  },
  {
    name: 'a fill of something else, and of no argument',
    edits: [
      [
        'arguments: { operation_id: { fill: operationId } }',
        'arguments: { operation_id: { fill: opid }, "": { at: /x } }',
      ],
    ],
    problems: [
      '10:44 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.arguments.operation_id.fill must be operationId, not "opid"',
      '10:52 POLICY_BAD_VALUE the name "" must be 1 to 128 visible characters',
    ],
  },
  {
    name: 'a duration without a unit',
    edits: [['timeout: 30s', 'timeout: 30']],
    problems: [
      '21:18 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.timeout must be a duration such as 10s, 10m, 2h or 7d; received 30',
    ],
  },
  {
    name: 'a duration over its bound',
    edits: [['timeout: 30s', 'timeout: 2h']],
    problems: [
      '21:18 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.timeout must be 1s to 1h; received "2h"',
    ],
  },
  {
    name: 'a duration with an unknown unit',
    edits: [['settleAfter: 10s', 'settleAfter: 10ms']],
    problems: [
      '16:188 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.outcome.settleAfter must be a duration such as 10s, 10m, 2h or 7d; received "10ms"',
    ],
  },
  {
    name: 'a look-up address without the operation id',
    edits: [
      ['tool: find_migration, arguments: { operation_id: { fill: operationId } }, ', 'http: { url: http://x/ }, '],
    ],
    problems: [
      '16:33 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.outcome.http.url must hold {operationId} [Without the id the look-up cannot tell one operation from another.]',
    ],
  },
  {
    name: 'a look-up that is no address',
    edits: [
      [
        'tool: find_migration, arguments: { operation_id: { fill: operationId } }, ',
        'http: { url: "x/{operationId}" }, ',
      ],
    ],
    problems: [
      '16:33 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.outcome.http.url must be an http:// or https:// address',
    ],
  },
  {
    name: 'a look-up database with a password, and a query that writes',
    edits: [
      [
        'tool: find_migration, arguments: { operation_id: { fill: operationId } }, ',
        'sql: { database: "postgres://u:hunter2@h/db", query: DELETE FROM x }, ',
      ],
    ],
    problems: [
      '16:37 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.outcome.sql.database holds what looks like a credential; a policy is stored and shown, so it may not hold one [Put the value into the environment of the worker and write ${DATABASE_URL} here.]',
      '16:73 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.outcome.sql.query must be one SELECT statement; received "DELETE FROM x" [A look-up only reads.]',
    ],
  },
  {
    name: 'a look-up database with a broken reference',
    edits: [
      [
        'tool: find_migration, arguments: { operation_id: { fill: operationId } }, ',
        'sql: { database: "${", query: SELECT a FROM b WHERE c = $1 }, ',
      ],
    ],
    problems: [
      '16:37 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.outcome.sql.database has a broken reference [A reference is ${NAME}, of letters, digits and _.]',
    ],
  },
  {
    name: 'a look-up query without a placeholder',
    edits: [
      [
        'tool: find_migration, arguments: { operation_id: { fill: operationId } }, ',
        `sql: { database: x, query: "select '?' /* ? */" }, `,
      ],
    ],
    problems: [
      `16:47 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.outcome.sql.query must have one placeholder for the operation id, ? or $1, not 0; received "select '?' /* ? */" [For example: SELECT applied FROM migrations WHERE operation_id = ?]`,
    ],
  },
  {
    name: 'a look-up query with two placeholders',
    edits: [
      [
        'tool: find_migration, arguments: { operation_id: { fill: operationId } }, ',
        'sql: { database: x, query: "SELECT a FROM b WHERE c = ? OR d = ?" }, ',
      ],
    ],
    problems: [
      '16:47 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.outcome.sql.query must have one placeholder for the operation id, ? or $1, not 2; received "SELECT a FROM b WHERE c = ? OR d = ?" [For example: SELECT applied FROM migrations WHERE operation_id = ?]',
    ],
  },
  {
    name: 'a look-up query with two statements',
    edits: [
      [
        'tool: find_migration, arguments: { operation_id: { fill: operationId } }, ',
        'sql: { database: x, query: "SELECT a FROM b WHERE c = ?; DROP TABLE b" }, ',
      ],
    ],
    problems: [
      '16:47 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.outcome.sql.query must be one SELECT statement; received "SELECT a FROM b WHERE c = ?; DROP TABLE b" [A look-up only reads.]',
    ],
  },
  {
    name: 'a look-up in two ways',
    edits: [
      [
        'tool: find_migration, arguments: { operation_id: { fill: operationId } }, ',
        'http: { url: "http://x/{operationId}" }, sql: { database: x, query: "select 1 where a=?" }, ',
      ],
    ],
    problems: [
      '16:18 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.outcome must say in exactly one way how to look the operation up [Write either "tool" (with "arguments"), or "http", or "sql".]',
    ],
  },
  {
    name: 'a look-up in no way',
    edits: [['tool: find_migration, arguments: { operation_id: { fill: operationId } }, ', '']],
    problems: [
      '16:18 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.outcome must say in exactly one way how to look the operation up [Write either "tool" (with "arguments"), or "http", or "sql".]',
    ],
  },
  {
    name: 'a look-up without what proves the effect',
    edits: [['executed: { at: /structuredContent/applied, equals: true }', 'executed: { at: x }']],
    problems: [
      '16:94 POLICY_MISSING_KEY servers.orders-db.tools.apply_migration.outcome.executed has no "equals"',
      '16:110 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.outcome.executed.at must be a JSON pointer such as /environment or /items/0/id; received "x" [Write "/x".]',
    ],
  },
  {
    name: 'access for an agent group, an unnamed server and no tools',
    edits: [
      [`agents: ['*'], server: orders-db, tools: ['*'] }`, `agents: ['group:x', 5], server: orders db, tools: [] }`],
    ],
    problems: [
      '23:44 POLICY_BAD_VALUE access[0].agents[0] must be 1 to 200 characters without spaces, not "*" and not "group:…"; received "group:x"',
      '23:55 POLICY_WRONG_TYPE access[0].agents[1] must be text, not 5 [Put it in quotes.]',
      '23:67 POLICY_BAD_VALUE access[0].server must be 1 to 64 letters, digits, or . _ - and begin with a letter or digit; received "orders db"',
      '23:85 POLICY_BAD_VALUE access[0].tools must have at least one entry',
    ],
  },
  {
    name: 'access for a group without a name',
    edits: [['subjects: [group:platform]', `subjects: ['group:', '']`]],
    problems: [
      '23:18 POLICY_BAD_VALUE access[0].subjects[0] must be "group:" and a group name; received "group:"',
      '23:28 POLICY_BAD_VALUE access[0].subjects[1] must be 1 to 200 characters without spaces, not "*" and not "group:…"; received ""',
    ],
  },
  {
    name: 'a condition that is only a value',
    edits: [[`tools: ['*'] }`, `tools: ['*'], when: { environment: staging } }`]],
    problems: [
      '23:104 POLICY_WRONG_TYPE access[0].when.environment must be a mapping, not "staging" [Write { is: staging }.]',
    ],
  },
  {
    name: 'a tool as scope',
    edits: [['scope: { tools: [apply_migration] }', 'scope: apply_migration']],
    problems: [
      '27:12 POLICY_BAD_VALUE rules[0].scope must be one of destructive, all, not "apply_migration" [To name tools write { tools: [apply_migration] }.]',
    ],
  },
  {
    name: 'a wildcard in a scope that names tools',
    edits: [['scope: { tools: [apply_migration] }', `scope: { tools: ['*'] }`]],
    problems: [
      '27:22 POLICY_BAD_VALUE rules[0].scope.tools[0] must be the name of one tool: 1 to 128 visible ASCII characters; "*" is not a name here; received "*"',
    ],
  },
  {
    name: 'conditions of no or several operators',
    edits: [
      [
        'when: { environment: { is: production } }',
        'when: { environment: { is: production, isNot: x }, statement: {}, other: { equals: 5 } }',
      ],
    ],
    problems: [
      '28:26 POLICY_BAD_VALUE rules[0].when.environment must have exactly one of is, isNot, oneOf, noneOf, atLeast, atMost, above, below [A second condition needs a second material field at the same pointer.]',
      '28:67 POLICY_BAD_VALUE rules[0].when.statement must have exactly one of is, isNot, oneOf, noneOf, atLeast, atMost, above, below [A second condition needs a second material field at the same pointer.]',
      '28:80 POLICY_UNKNOWN_KEY rules[0].when.other.equals is not a key here; allowed: is, isNot, oneOf, noneOf, atLeast, atMost, above, below',
    ],
  },
  {
    name: 'conditions on other types',
    edits: [
      [
        'when: { environment: { is: production } }',
        'when: { environment: { oneOf: [] }, statement: { is: null }, other: { above: five } }',
      ],
    ],
    problems: [
      '28:35 POLICY_BAD_VALUE rules[0].when.environment.oneOf must have at least one entry',
      '28:58 POLICY_BAD_VALUE rules[0].when.statement.is must be text, a number, or true or false; received nothing',
      '28:82 POLICY_WRONG_TYPE rules[0].when.other.above must be a number, not "five"',
    ],
  },
  {
    name: 'selfApproval inside approvers',
    edits: [['approvers: { groups: [dba], quorum: 1 }', 'approvers: { groups: [dba], selfApproval: true }']],
    problems: [
      '29:33 POLICY_UNKNOWN_KEY rules[0].approvers.selfApproval is not a key here; allowed: groups, people, quorum [It belongs to the rule itself, beside "approvers".]',
    ],
  },
  {
    name: 'a quorum outside its bounds',
    edits: [['approvers: { groups: [dba], quorum: 1 }', 'approvers: { groups: [dba], quorum: 0 }']],
    problems: ['29:41 POLICY_BAD_VALUE rules[0].approvers.quorum must be at least 1; received 0'],
  },
  {
    name: 'a quorum over its bounds',
    edits: [['approvers: { groups: [dba], quorum: 1 }', 'approvers: { groups: [dba], quorum: 51 }']],
    problems: ['29:41 POLICY_BAD_VALUE rules[0].approvers.quorum must be at most 50; received 51'],
  },
  {
    name: 'a quorum that is no whole number',
    edits: [['approvers: { groups: [dba], quorum: 1 }', 'approvers: { groups: [dba], quorum: 1.5 }']],
    problems: ['29:41 POLICY_WRONG_TYPE rules[0].approvers.quorum must be a whole number, not 1.5'],
  },
  {
    name: 'misspelt approvers, once',
    edits: [['approvers: { groups: [dba], quorum: 1 }', 'aprovers: { groups: [dba] }']],
    problems: [
      '29:5 POLICY_UNKNOWN_KEY rules[0].aprovers is not a key here; allowed: id, server, scope, when, approvers, selfApproval, bind, validity, escalate, deadline, emergency, signIn [Did you mean "approvers"?]',
    ],
  },
  {
    name: 'missing approvers',
    edits: [['    approvers: { groups: [dba], quorum: 1 }\n', '']],
    problems: ['25:5 POLICY_MISSING_KEY rules[0] has no "approvers"'],
  },
  {
    name: 'an unknown validity',
    edits: [['validity: once', 'validity: always']],
    problems: [
      '31:15 POLICY_BAD_VALUE rules[0].validity must be once, or a window such as { minutes: 15 }; received "always"',
    ],
  },
  {
    name: 'a window of nothing',
    edits: [['validity: once', 'validity: { minutes: 0, uses: 0 }']],
    problems: [
      '31:26 POLICY_BAD_VALUE rules[0].validity.minutes must be 1 second to 43200 minutes (30 days); received 0',
      '31:35 POLICY_BAD_VALUE rules[0].validity.uses must be at least 1; received 0',
    ],
  },
  {
    name: 'a window without an end',
    edits: [['validity: once', 'validity: { total: { environment: 5 } }']],
    problems: [
      '31:15 POLICY_BAD_VALUE rules[0].validity must have "uses" or "minutes" (or both) [Or write "validity: once".]',
    ],
  },
  {
    name: 'a window over 30 days',
    edits: [['validity: once', 'validity: { minutes: 43201 }']],
    problems: [
      '31:26 POLICY_BAD_VALUE rules[0].validity.minutes must be 1 second to 43200 minutes (30 days); received 43201',
    ],
  },
  {
    name: 'a total of nothing',
    edits: [['validity: once', 'validity: { minutes: 60, total: { amount: 0 } }']],
    problems: ['31:47 POLICY_BAD_VALUE rules[0].validity.total.amount must be more than 0; received 0'],
  },
  {
    name: 'a misspelt binding',
    edits: [['bind: material', 'bind: materials']],
    problems: [
      '30:11 POLICY_BAD_VALUE rules[0].bind must be one of arguments, material, tool, not "materials" [Did you mean "material"?]',
    ],
  },
  {
    name: 'a misspelt escalation',
    edits: [['    escalate: [', '    escalates: [']],
    problems: [
      '32:5 POLICY_UNKNOWN_KEY rules[0].escalates is not a key here; allowed: id, server, scope, when, approvers, selfApproval, bind, validity, escalate, deadline, emergency, signIn [Did you mean "escalate"?]',
    ],
  },
  {
    name: 'more than ten escalations',
    edits: [
      [
        'escalate: [ { after: 10m, to: { groups: [dba-leads] } } ]',
        'escalate: [{ after: 1m, to: { groups: [dba] } }, { after: 2m, to: { groups: [dba] } }, { after: 3m, to: { groups: [dba] } }, { after: 4m, to: { groups: [dba] } }, { after: 5m, to: { groups: [dba] } }, { after: 6m, to: { groups: [dba] } }, { after: 7m, to: { groups: [dba] } }, { after: 8m, to: { groups: [dba] } }, { after: 9m, to: { groups: [dba] } }, { after: 10m, to: { groups: [dba] } }, { after: 11m, to: { groups: [dba] } }]',
      ],
    ],
    problems: ['32:15 POLICY_BAD_VALUE rules[0].escalate must have at most 10 entries'],
  },
  {
    name: 'a deadline that escalates',
    edits: [['then: expire', 'then: escalate']],
    problems: [
      '33:35 POLICY_BAD_VALUE rules[0].deadline.then must be one of expire, keepWaiting, not "escalate" [Write "escalate" in the rule, beside "deadline".]',
    ],
  },
  {
    name: 'a deadline that denies',
    edits: [['then: expire', 'then: deny']],
    problems: ['33:35 POLICY_BAD_VALUE rules[0].deadline.then must be one of expire, keepWaiting, not "deny"'],
  },
  {
    name: 'reminders of a request that expires',
    edits: [['deadline: { after: 30m, then: expire }', 'deadline: { after: 30m, then: expire, remindEvery: 1h }']],
    problems: [
      '33:56 POLICY_BAD_VALUE rules[0].deadline.remindEvery goes with "then: keepWaiting" only; received "1h" [Remove it, or write "then: keepWaiting".]',
    ],
  },
  {
    name: 'a deadline that is only a duration',
    edits: [['deadline: { after: 30m, then: expire }', 'deadline: 30m']],
    problems: ['33:15 POLICY_WRONG_TYPE rules[0].deadline must be a mapping, not "30m" [Write { after: 30m }.]'],
  },
  {
    name: 'a deadline over 30 days',
    edits: [['deadline: { after: 30m, then: expire }', 'deadline: { after: 31d }']],
    problems: ['33:24 POLICY_BAD_VALUE rules[0].deadline.after must be 1s to 30d; received "31d"'],
  },
  {
    name: 'a deadline under a second',
    edits: [['deadline: { after: 30m, then: expire }', 'deadline: { after: 0s }']],
    problems: ['33:24 POLICY_BAD_VALUE rules[0].deadline.after must be 1s to 30d; received "0s"'],
  },
  {
    name: 'a deadline without its time',
    edits: [['deadline: { after: 30m, then: expire }', 'deadline: { then: keepWating }']],
    problems: [
      '33:5 POLICY_MISSING_KEY rules[0].deadline has no "after"',
      '33:23 POLICY_BAD_VALUE rules[0].deadline.then must be one of expire, keepWaiting, not "keepWating" [Did you mean "keepWaiting"?]',
    ],
  },
  {
    name: 'text that could write over the message',
    edits: [['approvers: { groups: [dba], quorum: 1 }', 'approvers: { groups: "a\\e[2J\\u202e\\nb" }']],
    problems: [
      '29:26 POLICY_WRONG_TYPE rules[0].approvers.groups must be a list, not "a\\u001b[2J\\u202e\\nb" [Write a list: ["a\\u001b[2J\\u202e\\nb"].]',
    ],
  },
  {
    name: 'a server that is only an address',
    edits: [['servers:\n', 'servers:\n  billing-db: http://x\n']],
    problems: ['6:15 POLICY_WRONG_TYPE servers.billing-db must be a mapping, not "http://x"'],
  },
  {
    name: 'a time to settle over its bound',
    edits: [['settleAfter: 10s', 'settleAfter: 2h']],
    problems: [
      '16:188 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.outcome.settleAfter must be 0s to 1h; received "2h"',
    ],
  },
  {
    name: 'a helper argument that is only a pointer',
    edits: [
      [
        'schema_version, arguments: { environment: { at: /environment } }',
        'schema_version, arguments: { environment: /environment }',
      ],
    ],
    problems: [
      '14:68 POLICY_WRONG_TYPE servers.orders-db.tools.apply_migration.version.arguments.environment must be a mapping, not "/environment"',
    ],
  },
  {
    name: 'a word for a boolean, and a long text, of which the beginning is shown',
    edits: [
      ['classification: customer-data', 'idempotent: maybe'],
      ['reversible: with-effort', `reversible: ${'x'.repeat(61)}`],
    ],
    problems: [
      '18:21 POLICY_WRONG_TYPE servers.orders-db.tools.apply_migration.idempotent must be true or false, not "maybe"',
      '19:21 POLICY_BAD_VALUE servers.orders-db.tools.apply_migration.reversible must be one of yes, with-effort, no, not "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"',
    ],
  },
  {
    name: 'arguments of a command that are no list, without repeating them',
    edits: [['servers:\n', 'servers:\n  billing-db: { stdio: { command: node, args: --token=hunter2 } }\n']],
    problems: ['6:47 POLICY_WRONG_TYPE servers.billing-db.stdio.args must be a list'],
  },
];

test.each(ROWS)('refuses $name', ({ edits, problems }) => {
  expect(problemsOf(edited(ORDERS_POLICY, ...edits))).toEqual(problems);
});
