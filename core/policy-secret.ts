import { text } from './policy-fields';
import type { Complaint } from './policy-fields';

/** Where a value of this name is read, a literal would put a secret into the policy, which is stored and shown. */
const SECRET_NAME =
  /^(proxy-)?authorization$|^cookie$|(^|[-_])(token|secret|password|passwd|credentials?|(api|access|private)[-_]?key)$/i;

/** `postgres://user:password@host` and its like. */
const PASSWORD_IN_URL = /^[a-z][a-z0-9+.-]*:\/\/[^/@\s]*:[^/@\s]+@/i;

/** Text in which `${NAME}` stands for a value of the environment; the policy keeps the reference, never the value. */
export const referenceText = text(judgeReferences);

/** The address of a database, without a password written into it. */
export const databaseText = text((value) =>
  PASSWORD_IN_URL.test(withoutReferences(value)) ? literalSecret('DATABASE_URL') : judgeReferences(value),
);

/** Text that is used as it is written: a reference in it would never be read. */
export const literalText = text(judgeLiteral);

/** An address of a server, as it is written: no user, password or fragment. */
export const httpUrl = text(judgeUrl);

/** An address in which `{operationId}` stands for the id, in the path or the query. */
export const operationUrl = text((value) => {
  const example = value.replaceAll('{operationId}', 'op_0');
  const complaint = judgeUrl(example);
  if (complaint !== null || example !== value) return complaint;
  return {
    message: 'must hold {operationId}',
    hint: 'Without the id the look-up cannot tell one operation from another.',
  };
});

/** What is wrong with the value of a header or of an environment variable, beyond its text. */
export function judgeSecret(name: string, value: string): Complaint | null {
  return SECRET_NAME.test(name) && withoutReferences(value) === value ? literalSecret(name) : null;
}

function judgeUrl(value: string): Complaint | null {
  const literal = judgeLiteral(value);
  if (literal !== null) return literal;
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return { message: 'must be an http:// or https:// address' };
  if (url.username + url.password + url.hash === '') return null;
  return { message: 'may not hold a user, a password or a "#"', hint: 'Send credentials in "headers", as ${NAME}.' };
}

function judgeLiteral(value: string): Complaint | null {
  if (!value.includes('${')) return judgeControls(value);
  return { message: 'may not hold ${…}', hint: 'References are read in headers, env and database only.' };
}

function judgeReferences(value: string): Complaint | null {
  if (!withoutReferences(value).includes('${')) return judgeControls(value);
  return { message: 'has a broken reference', hint: 'A reference is ${NAME}, of letters, digits and _.' };
}

function judgeControls(value: string): Complaint | null {
  return /^[^\p{Cc}]{0,8192}$/u.test(value) ? null : { message: 'must be one line of at most 8192 characters' };
}

function withoutReferences(value: string): string {
  return value.replace(/\$\{[A-Za-z_][A-Za-z0-9_]*\}/g, '');
}

function literalSecret(name: string): Complaint {
  return {
    message: 'holds what looks like a credential; a policy is stored and shown, so it may not hold one',
    hint: `Put the value into the environment of the worker and write \${${name.toUpperCase().replaceAll('-', '_')}} here.`,
  };
}
