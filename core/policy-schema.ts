import { z } from 'zod';
import type { ConsoleEntry, Person } from './policy';
import { choose, personName, plainName, shape, subjectName, text, who } from './policy-fields';

/** 32 bytes are 43 characters of base64url, of which the last has two bits that must be zero. */
const PUBLIC_KEY = /^ed25519:[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;

const publicKey = text((value) =>
  PUBLIC_KEY.test(value)
    ? null
    : { message: 'must be "ed25519:" and 32 bytes in base64url', hint: 'holdpoint key new prints it.' },
);

const publicKeys = z.array(publicKey);

const onePublicKey = publicKey.transform((key) => [key]);

/** One entry of `people`, without its name. */
export const personSchema = shape({
  groups: z.array(personName).default([]),
  key: choose<string[]>((value) => (Array.isArray(value) ? publicKeys : onePublicKey)).optional(),
  subjects: z.array(subjectName).optional(),
});

/** The person of an entry; without `subjects` the requester names `<name>` and `user:<name>` are this human. */
export function toPerson(name: string, given: z.output<typeof personSchema>): Person {
  const { groups, key = [], subjects = [name, `user:${name}`] } = given;
  return { name, groups, keys: key, subjects };
}

/** What the policy says of the console. */
export const consoleSchema = shape({
  key: choose<string[]>((value) => (Array.isArray(value) ? publicKeys : onePublicKey)),
  operators: who.prefault({}),
  secondReviewShare: z.number().min(0).max(1).optional(),
}).transform(({ key, operators, secondReviewShare }): ConsoleEntry => ({
  ...{ keys: key, operators },
  ...(secondReviewShare !== undefined && { secondReviewShare }),
}));

/** The whole file, with its entries unread: each is read by itself, so that one mistake hides no other. */
export const policySchema = shape({
  version: z.literal(1).default(1),
  trust: z.enum(['signatures', 'namespace']).optional(),
  people: z.record(personName, z.unknown()).default({}),
  console: z.unknown().optional(),
  servers: z.record(plainName, z.unknown()),
  access: z.array(z.unknown()),
  rules: z.array(z.unknown()),
});
