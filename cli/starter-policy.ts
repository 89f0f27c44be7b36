export interface StarterPolicy {
  readonly server: string;
  readonly transport: { readonly url: string } | { readonly command: string; readonly args: readonly string[] };
  readonly reviewer: { readonly name: string; readonly publicKey: string };
  /** By which the console of the same state folder signs. */
  readonly consoleKey: string;
}

/** A policy to begin with: every destructive tool of one server asks one reviewer, each time. */
export function starterPolicy({ server, transport, reviewer, consoleKey }: StarterPolicy): string {
  const reach =
    'url' in transport
      ? `http: { url: ${text(transport.url)} }`
      : `stdio: { command: ${text(transport.command)}, args: [${transport.args.map(text).join(', ')}] }`;
  return `# A Holdpoint policy. docs/policy.md explains every key.
#   holdpoint policy check FILE    says what it means
#   holdpoint policy apply FILE    makes it the active one

# Who may decide. The private half of the key stays with its owner: holdpoint key new.
people:
  ${reviewer.name}: { groups: [reviewers], key: ${text(reviewer.publicKey)} }

# The reviewers' console signs for people whom it signed in; operators also settle and revoke there.
console:
  key: ${text(consoleKey)}
  operators: { groups: [reviewers] }

# Which tools there are. A tool that is not listed here exists all the same, with these defaults.
servers:
  ${server}:
    ${reach}
    hints: untrusted # what the server says of its tools can only raise the risk
    tools: {}
    # tools:
    #   apply_migration:
    #     material: { statement: { at: /sql, as: sql } } # shown first, typed, bound
    #     reversible: with-effort
    #     timeout: 30s

# Who may call what at all. An approval is not authorisation.
access:
  - { subjects: ['*'], agents: ['*'], server: ${server}, tools: ['*'] }

# What asks whom first. What no rule names runs unasked.
rules:
  - id: destructive-tools
    server: ${server}
    scope: destructive # a tool that says nothing of itself counts as destructive
    approvers: { groups: [reviewers], quorum: 1 }
    validity: once # or { minutes: 15 }, or { uses: 3, minutes: 60 }
    deadline: { after: 1h, then: expire } # silence is no consent
    # selfApproval: true # only to try it alone: the person behind a request may allow it
`;
}

function text(value: string): string {
  return JSON.stringify(value);
}
