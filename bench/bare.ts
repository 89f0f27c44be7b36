/** The input of `bareTurn`: whether an activity runs before it counts as opened, and whether it waits for a decision. */
export interface BareInput {
  readonly opens: boolean;
  readonly asks: boolean;
}

export interface BareActivities {
  /** Does nothing, and answers when, by the machine's monotonic clock in nanoseconds. */
  act(): Promise<string>;
}

export const BARE_QUEUE = 'bare';
