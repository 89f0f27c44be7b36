/** How a request closed. */
export type ClosedState = 'allowed' | 'denied' | 'expired' | 'withdrawn' | 'refused';
