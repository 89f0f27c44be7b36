/** Why the guard let a request go no further: what a person reads, and the code for programs and the log. */
export interface GuardRefusal {
  readonly status: 403 | 413;
  readonly code: string;
  readonly title: string;
  readonly happened: string;
  readonly recorded: string;
  readonly next: string;
}

const recorded = 'Nothing was recorded.';

export const GUARD_REFUSALS = {
  host: {
    status: 403,
    code: 'FOREIGN_HOST',
    title: 'Unknown host',
    happened: 'The address that was asked for is none of the names of this console.',
    recorded,
    next: 'Use one of its names; HOLDPOINT_CONSOLE_HOSTS lists further ones.',
  },
  origin: {
    status: 403,
    code: 'FOREIGN_ORIGIN',
    title: 'Not from this console',
    happened: 'This was sent by a page of somebody else, or by something that does not say which page sent it.',
    recorded,
    next: 'Open the page in this console and send it from there.',
  },
  signedOut: {
    status: 403,
    code: 'SIGNED_OUT',
    title: 'Not signed in',
    happened: 'You are not signed in, or not any more.',
    recorded,
    next: 'Sign in, open the page again and send it from there.',
  },
  form: {
    status: 403,
    code: 'FORM_TOKEN_WRONG',
    title: 'A form of another sign-in',
    happened: 'This form does not belong to your present sign-in.',
    recorded,
    next: 'Load its page again and send it from there.',
  },
  tooLong: {
    status: 413,
    code: 'FORM_TOO_LARGE',
    title: 'Too large',
    happened: 'A form has at most 65536 bytes, and this one has more.',
    recorded,
    next: 'Go back, shorten what it says, and send it again.',
  },
} as const satisfies Readonly<Record<string, GuardRefusal>>;
