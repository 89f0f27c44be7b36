/** A turn that waits for its decision. */
export interface WaitingTurn {
  readonly workflowId: string;
  /** Allows it; throws where the decision is not accepted. */
  decide(): Promise<void>;
  /** When the effect took place, by the clock of `nowNs`; throws where it did not. Settles with the turn's result. */
  effectNs(): Promise<bigint>;
}

/** One of the two sides that are compared. */
export interface Subject {
  /** Starts a turn and answers once whoever decides can know of it. */
  open(): Promise<WaitingTurn>;
  /** A turn in which nobody is asked, from start to result. Answers its workflow id. */
  runFree(): Promise<string>;
}

/** A subject that knows how many of its turns said that they executed. */
export interface CountingSubject extends Subject {
  executed(): number;
}
