import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A mail as the server took it. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly user: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly html: string;
}

export interface Refusing {
  readonly at: 'login' | 'recipient' | 'content';
  readonly code: number;
  readonly text: string;
  /** This recipient alone. */
  readonly only?: string;
}

export interface MailServer {
  readonly port: number;
  readonly received: readonly ReceivedMail[];
  /** At what it refused, in order. */
  readonly refused: readonly string[];
  refuse(how: Refusing | null): Promise<void>;
  close(): Promise<void>;
}

interface Said {
  readonly port?: number;
  readonly refused?: string;
  readonly refusing?: boolean;
  readonly mail?: {
    readonly from: string;
    readonly to: readonly string[];
    readonly user: string | null;
    readonly raw: string;
  };
}

/** Starts a real SMTP server in a process of its own; its one password is `the-password`. */
export async function startMailServer(kind: 'plain' | 'tls' = 'plain'): Promise<MailServer> {
  const child = fork(join(__dirname, 'smtp-server-child.cjs'), [kind], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const received: ReceivedMail[] = [];
  const refused: string[] = [];
  const [{ port = 0 }] = (await once(child, 'message')) as [Said];
  const answers: (() => void)[] = [];
  child.on('message', (said: Said) => {
    if (said.mail !== undefined) received.push(mailOf(said.mail));
    if (said.refused !== undefined) refused.push(said.refused);
    if (said.refusing !== undefined) answers.shift()?.();
  });
  return {
    ...{ port, received, refused },
    refuse: (how) =>
      new Promise((resolve) => {
        answers.push(resolve);
        child.send({ refuse: how });
      }),
    close: async () => {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}

function mailOf({ raw, ...envelope }: NonNullable<Said['mail']>): ReceivedMail {
  const { headers, body } = split(raw);
  const boundary = /boundary="([^"]+)"/.exec(headers['content-type'] ?? '')?.[1] ?? '';
  const parts = body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => split(part.replace(/^\r\n/, '')));
  const [text, html] = parts.map((part) => decoded(part.headers['content-transfer-encoding'] ?? '', part.body));
  return { ...envelope, headers, text: text ?? '', html: html ?? '' };
}

/** Headers by their names in small letters, unfolded. */
function split(raw: string): { readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  const end = raw.indexOf('\r\n\r\n');
  const lines = raw
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers = lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { headers: Object.fromEntries(headers) as Record<string, string>, body: raw.slice(end + 4) };
}

function decoded(encoding: string, body: string): string {
  const text = body.replace(/\r\n$/, '');
  if (encoding === 'base64') return Buffer.from(text, 'base64').toString('utf8');
  const joined = encoding === 'quoted-printable' ? text.replace(/=\r\n/g, '') : text;
  const bytes = joined.replace(/=([0-9A-F]{2})/g, (whole, hex: string) =>
    encoding === 'quoted-printable' ? String.fromCharCode(Number.parseInt(hex, 16)) : whole,
  );
  return Buffer.from(bytes, encoding === 'quoted-printable' ? 'latin1' : 'utf8')
    .toString('utf8')
    .replaceAll('\r\n', '\n');
}
