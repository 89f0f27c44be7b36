import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { userInfo } from 'node:os';
import { generatePermitKey, jwksOf, loadPermitKey, savePermitKey } from '../../activities/permit-key';
import { generateReviewerKey, publicKeyOf } from '../../client';
import { newSealKey } from '../../console/sign-in/mint';
import { CliFailure } from '../failure';
import { PERMIT_KEY_FILE } from '../public-keys';
import { safe } from '../text';
import { reasonOf } from '../../ledger/ledger-error';
import { errorCode } from '../error-code';

/** Makes a state folder that only its owner can read, and that no repository takes in. Safe to call again. */
export async function makeStateFolder(stateDir: string): Promise<void> {
  try {
    await mkdir(join(stateDir, 'keys'), { recursive: true, mode: 0o700 });
    await chmod(stateDir, 0o700);
    await writeFile(join(stateDir, '.gitignore'), '*\n');
  } catch (error) {
    throw new CliFailure(
      'unreachable',
      `The state folder ${safe(stateDir)} cannot be written to: ${safe(reasonOf(error))}. Nothing was started.`,
      'Give this user write access to it, or choose another with --state DIR.',
    );
  }
}

/** The worker's key in the state folder; made at the first start and kept, so that old permits and checkpoints verify. */
export async function ensurePermitKey(stateDir: string): Promise<string> {
  const file = join(stateDir, PERMIT_KEY_FILE);
  await savePermitKey(file, await generatePermitKey()).catch(ignoreExisting);
  return file;
}

/** Writes the keys that verify permits to a file: the worker, which has them at its address, may take another one. */
export async function writeKeySet(stateDir: string): Promise<string> {
  const loaded = await loadPermitKey(join(stateDir, PERMIT_KEY_FILE));
  if (!loaded.ok) throw new CliFailure('refused', `${loaded.detail} [${loaded.code}]`);
  const file = join(stateDir, 'keys', 'permit-keys.json');
  await writeFile(file, `${JSON.stringify(jwksOf(loaded.key))}\n`);
  return file;
}

export interface LocalReviewer {
  readonly name: string;
  readonly keyFile: string;
  /** For `people` in the policy. */
  readonly publicKey: string;
}

export interface LocalConsole {
  readonly keyFile: string;
  readonly signingKeyFile: string;
  /** For `console` in the policy. */
  readonly publicKey: string;
}

/** The keys of the console in the state folder; made at the first use and kept, so that sessions and policies stay good. */
export async function ensureConsole(stateDir: string): Promise<LocalConsole> {
  const keyFile = join(stateDir, 'keys', 'console.key');
  await writeFile(keyFile, `${newSealKey()}\n`, { mode: 0o600, flag: 'wx' }).catch(ignoreExisting);
  // No name of a person ends in a dot and more: those are their own files.
  const { keyFile: signingKeyFile, publicKey } = await ensureReviewer(stateDir, 'console.signing');
  return { keyFile, signingKeyFile, publicKey };
}

/** A reviewer whose key is in the state folder; made at the first use. */
export async function ensureReviewer(stateDir: string, name: string): Promise<LocalReviewer> {
  const keyFile = join(stateDir, 'keys', `${name}.pem`);
  await writeFile(keyFile, generateReviewerKey().privateKey, { mode: 0o600, flag: 'wx' }).catch(ignoreExisting);
  return { name, keyFile, publicKey: publicKeyOf(await readFile(keyFile, 'utf8')) };
}

/** The name of a person for a policy, made from the user's own; a name may not hold everything that a user name may. */
export function localUserName(): string {
  const name = userInfo()
    .username.toLowerCase()
    .replace(/[^a-z0-9_-]/g, '-');
  return /^[a-z]/.test(name) ? name : `user-${name}`;
}

function ignoreExisting(error: unknown): void {
  if (errorCode(error) !== 'EEXIST') throw error;
}
