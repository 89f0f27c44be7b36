import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface OidcProvider {
  readonly issuer: string;
  /** The secret of its one client, which is `console`. */
  readonly clientSecret: string;
  /** Signs people in from now on, and leads back to `redirectUri`. */
  open(redirectUri: string): Promise<void>;
  close(): Promise<void>;
}

/** Starts an OpenID provider in a process of its own; until it is opened it answers 503. */
export async function startOidcProvider(): Promise<OidcProvider> {
  const child = fork(join(__dirname, 'oidc-provider-child.cjs'), { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }];
  return {
    issuer: `http://127.0.0.1:${port}`,
    clientSecret: 'the-secret-of-the-console',
    open: async (redirectUri) => {
      child.send({ redirectUri });
      await once(child, 'message');
    },
    close: async () => {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}
