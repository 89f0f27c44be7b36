import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { resolveText } from '../../activities/secret-references';
import { choose } from '../../core/policy-fields';
import { strictObject } from '../../core/schema-issues';
import { reasonOf } from '../../ledger/ledger-error';

/** One setting that was read, or what is wrong with it: one sentence, without the value of a secret. */
export type Read<T> = { readonly problem: string } | { readonly value: T };

/** A text with `${NAME}` references to the environment, or the file that holds the text. */
export type SecretText = string | { readonly file: string };

const inFile = strictObject({ file: z.string().min(1) });

export const secretText = choose<SecretText>((value) =>
  typeof value === 'object' && value !== null ? inFile : z.string().min(1),
);

const REFERENCE = /\$\{[A-Za-z_][A-Za-z0-9_]*\}/g;
const PASSWORD_IN_URL = /^[a-z]+:\/\/[^/@]*:[^/@]+@/i;

/** A text that is a secret as a whole: it is never written into the settings themselves. */
export async function readSecret(given: SecretText, env: NodeJS.ProcessEnv): Promise<Read<string>> {
  if (typeof given !== 'string') return readSecretFile(given.file);
  return given.replace(REFERENCE, '') === given ? PLAIN : filled(given, (name) => env[name]);
}

/** An address of which only the user's password is a secret. References to parts of it are percent-encoded. */
export async function readAddress(given: SecretText, env: NodeJS.ProcessEnv): Promise<Read<string>> {
  if (typeof given !== 'string') return readSecretFile(given.file);
  const literal = given.replace(REFERENCE, '');
  if (PASSWORD_IN_URL.test(literal)) return PLAIN;
  const isWhole = literal === '';
  return filled(given, (name) => {
    const value = env[name];
    return value === undefined || isWhole ? value : encodeURIComponent(value);
  });
}

const PLAIN = {
  problem: 'holds a secret in plain text: write ${NAME} for a variable of the environment, or { file: PATH }',
};

function filled(text: string, valueOf: (name: string) => string | undefined): Read<string> {
  // A compose file passes an empty text for what nobody set.
  const resolved = resolveText(text, (name) => valueOf(name)?.trim() || undefined);
  return resolved.ok ? { value: resolved.value } : { problem: `names \${${resolved.missing}}, which is not set` };
}

async function readSecretFile(path: string): Promise<Read<string>> {
  try {
    const text = (await readFile(path, 'utf8')).trim();
    return text === '' ? { problem: `names the file ${JSON.stringify(path)}, which is empty` } : { value: text };
  } catch (error) {
    return { problem: `names a file that cannot be read: ${reasonOf(error)}` };
  }
}
