/** What the exit code of every command means; `docs/cli.md` has the same table. */
export const EXIT_CODES = {
  ok: { code: 0, means: 'done' },
  refused: { code: 1, means: 'used wrongly, or refused: the message says which rule, and nothing changed' },
  notFound: { code: 2, means: 'no such request, operation, turn, grant or file' },
  unreachable: { code: 3, means: 'Temporal, the ledger or a tool server cannot be used: the message says which' },
  notYet: { code: 4, means: 'not yet: still waiting for people, for a worker or for an outcome' },
  notExecuted: { code: 5, means: 'the turn has ended and not every call of it was executed' },
  bug: { code: 70, means: 'a fault of Holdpoint itself' },
} as const;

export type ExitName = keyof typeof EXIT_CODES;
