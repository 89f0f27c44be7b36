/**
 * Who asks: the human subject, the agent that proposes the call, and the delegation chain between them.
 * `chain` lists every principal from the human to the last agent, first to last; it is empty where there is none.
 */
export interface Requester {
  readonly subject: string;
  readonly agent: string;
  readonly chain: readonly string[];
}

/** Every principal that stands behind a call: the subject, the chain, and the agent. */
export function principalsOf(requester: Requester): readonly string[] {
  return [requester.subject, ...requester.chain, requester.agent];
}

/** One text for each requester: no two have the same. */
export function requesterId({ subject, agent, chain }: Requester): string {
  return JSON.stringify([subject, agent, chain]);
}
