import type { Hono } from 'hono';
import { formField } from '../form-field';
import { ownPath } from './own-path';
import type { PersonStatement } from './sealed';
import { linkPage, noPersonPage, notSignedInPage } from './sign-in-pages';
import { answer, enter, tooManyAttempts, turnAway } from './sign-in-parts';
import type { NotEntered, SignInEnv, SignInParts } from './sign-in-parts';

/** The sign-in by a link that somebody with the console's key made. */
export function addLinkRoutes(app: Hono<SignInEnv>, parts: SignInParts): void {
  app.get('/sign-in/link', async (c) => {
    const [code, to] = [c.req.query('code') ?? '', ownPath(c.req.query('to'))];
    const statement = await openLink(parts, code);
    if (statement === null) return turnAway(parts, c, badLink(to));
    return answer(c, linkPage({ person: statement.person, code, to }));
  });

  app.post('/sign-in/link', async (c) => {
    const refused = tooManyAttempts(parts, c, 'link');
    if (refused !== null) return refused;
    const to = ownPath((await formField(c, 'to')) ?? undefined);
    const statement = await openLink(parts, (await formField(c, 'code')) ?? '');
    if (statement === null) return turnAway(parts, c, badLink(to));
    const { person } = statement;
    // By this very name: a link was made for a person, not for a subject.
    if ((await parts.personNamed(person)) !== person) {
      return turnAway(parts, c, { by: 'link', status: 403, reason: 'no such person', page: noPersonPage(person, to) });
    }
    // Nothing is awaited between the question and the answer, so of two at once one is first.
    if (!parts.spent.spend(statement)) return turnAway(parts, c, badLink(to));
    return enter(parts, c, { person, by: 'link', to, signIn: { atMs: parts.nowMs() } });
  });
}

function badLink(to: string): NotEntered {
  const page = notSignedInPage({ happened: BAD_LINK, next: 'Ask for a new one.', to });
  return { by: 'link', status: 403, reason: 'the link does not count', page };
}

const BAD_LINK =
  'This sign-in link does not count: it was used, it has expired, it was made before the console started, or it is not whole.';

/** A link that was made before this console started may have been used there: it counts no more. */
async function openLink({ seals, spent }: SignInParts, code: string): Promise<PersonStatement | null> {
  const statement = await seals.openPerson('link', code);
  if (statement === null || statement.issuedAtMs < spent.sinceMs) return null;
  return spent.isSpent(statement.id) ? null : statement;
}
