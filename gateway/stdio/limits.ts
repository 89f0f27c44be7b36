/** Bounds of an endpoint for a server on stdio; each has a default in `STDIO_LIMITS`. */
export interface StdioLimits {
  /** Sessions, and so processes, that one requester may hold at a server. */
  readonly sessionsPerRequester: number;
  /** How long a session is kept that has no request in flight and no stream open. */
  readonly idleMs: number;
  /** Requests of one client that may be in flight at once. */
  readonly requestsInFlight: number;
  /** Messages of the server that are kept for a client that has no stream open. */
  readonly keptMessages: number;
  /** How long a server may take to answer `initialize`; one that a package runner has to fetch takes its time. */
  readonly handshakeMs: number;
  /** How long an answer is waited for before the response becomes a stream; an earlier one is plain JSON. */
  readonly jsonWindowMs: number;
  /** Between two signs of life on an open stream; some clients cut one that is silent for 60 s. */
  readonly keepAliveMs: number;
  /** How long the answer to a request that its client has cancelled is still passed on. */
  readonly cancelledMs: number;
}

export const STDIO_LIMITS: StdioLimits = {
  sessionsPerRequester: 16,
  idleMs: 1_800_000,
  requestsInFlight: 256,
  keptMessages: 1_000,
  handshakeMs: 60_000,
  jsonWindowMs: 50,
  keepAliveMs: 15_000,
  cancelledMs: 5_000,
};
