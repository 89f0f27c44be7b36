import type { Verdict } from '../../core/decision';
import type { SignInNeed } from '../../core/policy';
import { asciiJson } from './ascii-json';
import { PROBLEMS, type ProblemCode } from './problem-codes';

/** One place of a request that breaks a rule. `field` is a JSON pointer into its `in`. */
export interface FieldError {
  readonly in: 'query' | 'path' | 'header' | 'body';
  readonly field: string;
  readonly detail: string;
}

/** What a problem says beside its code. */
export interface ProblemParts {
  readonly code: ProblemCode;
  /** For a person: the rule, what came and what to do; the title where it is left out. */
  readonly detail?: string;
  readonly errors?: readonly FieldError[];
  /** Of a store or of Temporal: the code of `docs/errors.md`. */
  readonly cause?: string;
  readonly verdict?: Omit<Verdict, 'code' | 'detail'>;
  readonly retryAfterS?: number;
  readonly allow?: string;
  /** What the sign-in lacked. */
  readonly signIn?: SignInNeed;
}

/** The one form of every error: RFC 9457, and the code that programs tell errors apart by. */
export function problem({ code, detail, errors, cause, verdict, retryAfterS, allow, signIn }: ProblemParts): Response {
  const { status, title } = PROBLEMS[code];
  const headers = new Headers({ 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store' });
  if (retryAfterS !== undefined) headers.set('Retry-After', String(retryAfterS));
  if (allow !== undefined) headers.set('Allow', allow);
  if (code === 'UNAUTHENTICATED') headers.set('WWW-Authenticate', 'Bearer');
  if (signIn !== undefined && signIn.acr?.length !== 0) headers.set('WWW-Authenticate', challengeOf(signIn));
  const body = {
    type: `tag:holdpoint.dev,2026:problem/${code}`,
    ...{ title, status, code, detail: detail ?? title },
    ...(errors !== undefined && { errors }),
    ...(cause !== undefined && { cause }),
    ...verdict,
  };
  return new Response(asciiJson(body), { status, headers });
}

/** RFC 9470, section 3. The policy takes no class with a character that would have to be escaped here. */
function challengeOf({ withinMs, acr }: SignInNeed): string {
  const parts = [
    'error="insufficient_user_authentication"',
    `error_description="${PROBLEMS.signInNeeded.title}"`,
    `max_age="${Math.floor(withinMs / 1_000)}"`,
    ...(acr === null ? [] : [`acr_values="${acr.join(' ')}"`]),
  ];
  return `Bearer ${parts.join(', ')}`;
}
