import { subjectName } from '../../core/policy-fields';

/** Links of a delegation chain that a requester may have, as a turn takes them. */
export const MAX_CHAIN = 16;

/**
 * Whether a text can name a subject or an agent: 1 to 200 characters, none of them a space, a control or an invisible
 * one, and nothing that a policy would read as a pattern (`*`, `group:…`).
 */
export function isPrincipal(name: unknown): name is string {
  return typeof name === 'string' && !/\p{Cs}/u.test(name) && subjectName.safeParse(name).success;
}
