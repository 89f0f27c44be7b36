/**
 * Every counter: what it counts, since the ledger was made. `docs/monitoring.md` says what to do about each; a test
 * compares the two.
 */
export const COUNTERS = [
  {
    name: 'holdpoint_requests_opened_total',
    help: 'Approval requests that were opened; cause "first", or why a revision was asked about again.',
  },
  {
    name: 'holdpoint_requests_closed_total',
    help: 'Approval requests that were closed, by how; what was allowed may later be withdrawn or refused, too.',
  },
  { name: 'holdpoint_requests_escalated_total', help: 'Escalations of approval requests.' },
  {
    name: 'holdpoint_requests_stale_total',
    help: 'Allowed requests that were found stale right before the effect, by cause.',
  },
  {
    name: 'holdpoint_requests_repeated_total',
    help: 'Requests for what the same requester had asked for within the 24 hours before.',
  },
  {
    name: 'holdpoint_requests_after_denial_total',
    help: 'Requests for what the same requester had been denied within the 24 hours before.',
  },
  { name: 'holdpoint_decisions_total', help: 'Decisions that count.' },
  {
    name: 'holdpoint_decisions_not_counted_total',
    help: 'Decisions that do not count; cause is the code of the verdict.',
  },
  {
    name: 'holdpoint_calls_refused_total',
    help: 'Calls that access, policy, schema or a limit refused, by the code of the refusal.',
  },
  {
    name: 'holdpoint_calls_not_asked_total',
    help: 'Calls of turns about which nobody was asked: no rule asks, or a live grant covers them.',
  },
  { name: 'holdpoint_operations_sent_total', help: 'Operations that were sent to a tool, each once.' },
  { name: 'holdpoint_operations_total', help: 'Outcomes of operations as they were recorded.' },
  {
    name: 'holdpoint_failures_after_approval_total',
    help: 'Outcomes of operations that people had allowed, other than executed without an error.',
  },
  { name: 'holdpoint_settlements_total', help: 'Unknown outcomes that a person settled.' },
  {
    name: 'holdpoint_emergencies_total',
    help: 'Emergencies: requests that were allowed under an emergency rule, by the rule whose approvers were skipped.',
  },
  { name: 'holdpoint_reversals_total', help: 'Executed operations whose effect was reported as undone.' },
  {
    name: 'holdpoint_second_reviews_total',
    help: 'Sampled decisions that somebody looked at again without knowing the answer, by whether theirs is the same.',
  },
  { name: 'holdpoint_look_ups_total', help: 'What look-ups of an outcome found out.' },
] as const;

export type CounterName = (typeof COUNTERS)[number]['name'];

export const LATENCY = {
  name: 'holdpoint_decision_latency_seconds',
  help: 'Time from the opening of a request to each decision that counts, in seconds.',
} as const;
