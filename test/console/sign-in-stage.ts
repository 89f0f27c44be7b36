import { createServer, request, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import { createGuard, type GuardDeps } from '../../console/guard';
import type { ConsoleSettings } from '../../console/settings';
import { createMint, type Mint } from '../../console/sign-in/mint';
import { createSignIn, type SignIn } from '../../console/sign-in/sign-in';
import { recordedLog, type RecordedLog } from '../support/recorded-log';

const KEY = Buffer.alloc(32, 7);

/** Names and subjects of the people of the policy. */
const PEOPLE: Readonly<Record<string, string>> = { dana: 'dana', 'dana@example.com': 'dana', eli: 'eli' };

export interface ConsoleServer {
  readonly port: number;
  readonly url: string;
  readonly signIn: SignIn;
  readonly mint: Mint;
  readonly log: RecordedLog;
  /** What forms and the API recorded. */
  readonly recorded: string[];
  /** Moved on by tests: sessions, links and tokens age by it. */
  readonly clock: { aheadMs: number };
  readonly people: Map<string, string>;
  close(): Promise<void>;
}

/** A console with its guard and its sign-in, and behind them one page, one form and one call of the API. */
export async function serveConsole(more: Partial<ConsoleSettings> = {}): Promise<ConsoleServer> {
  const log = recordedLog();
  const recorded: string[] = [];
  const clock = { aheadMs: 0 };
  const people = new Map(Object.entries(PEOPLE));
  const nowMs = (): number => Date.now() + clock.aheadMs;
  const settings: ConsoleSettings = {
    ...{ host: '127.0.0.1', port: 0, publicUrl: null, hosts: [], origins: [] },
    ...{ key: KEY, signingKey: null, oidc: null, sessionMs: 43_200_000, metricsToken: null },
    ...more,
  };
  const signIn = createSignIn({ settings, personNamed: async (claim) => people.get(claim) ?? null, log, nowMs });
  const viewerOf: GuardDeps['viewerOf'] = async (identified) =>
    people.has(identified.person) ? { ...identified, name: identified.person, groups: [], isOperator: false } : null;
  const app = appOf({ signIn, guard: createGuard({ settings, signIn, viewerOf, log }), recorded });
  const listener = getRequestListener(app.fetch);
  const server = createServer((req, res) => void listener(req, res));
  await new Promise<void>((resolve) => server.listen(settings.port, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...{
      port,
      url: `http://${settings.host}:${port}`,
      signIn,
      mint: createMint(KEY, nowMs),
      log,
      recorded,
      clock,
      people,
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface AppParts {
  readonly signIn: SignIn;
  readonly guard: ReturnType<typeof createGuard>;
  readonly recorded: string[];
}

function appOf({ signIn, guard, recorded }: AppParts): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.onError((error, c) => c.text(`failed: ${error.message}`, 500));
  app.use(guard);
  app.route('/', signIn.routes);
  app.get('/', async (c) => {
    const known = await signIn.identifySession(c.req.header('cookie'));
    if (known === null) return c.redirect('/sign-in?to=%2F');
    const csrf = signIn.csrfOf(known.sessionId);
    return c.html(`<form method="post" action="/decide"><input type="hidden" name="csrf" value="${csrf}">
<button id="allow">Allow</button></form><p id="who">${known.person}</p>`);
  });
  app.post('/decide', async (c) => {
    const { answer = '' } = await c.req.parseBody();
    recorded.push(typeof answer === 'string' ? answer : 'a file');
    return c.text('recorded');
  });
  app.all('/api/v1/decisions', async (c) => {
    const known = await signIn.identifyToken(c.req.header('authorization'));
    if (known === null) return c.json({ code: 'UNAUTHENTICATED' }, 401);
    if (c.req.method === 'POST') recorded.push(await c.req.text());
    return c.json({ person: known.person });
  });
  app.get('/assets/console.css', (c) => c.body('p {}', 200, { 'cache-control': 'max-age=60' }));
  app.get('/raw', () => new Response('raw'));
  app.get('/fails', () => {
    throw new Error('on purpose');
  });
  app.get('/stream', () => new Response(new Blob(['a', 'b']).stream(), { headers: { 'content-type': 'text/plain' } }));
  return app;
}

export interface Answer {
  readonly url: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

type Headers = Readonly<Record<string, string>>;

export interface Visit {
  readonly method?: string;
  readonly headers?: Headers;
  readonly body?: string | Buffer | undefined;
}

/** Keeps cookies by host and port, as far as these tests need it, and sends what a browser would of its own page. */
export class TestBrowser {
  readonly cookies = new Map<string, string>();

  /** One request, redirects not followed. */
  async visit(url: string, { method = 'GET', headers = {}, body }: Visit = {}): Promise<Answer> {
    const { origin } = new URL(url);
    const cookies = [...this.cookies].filter(([key]) => key.startsWith(`${origin} `));
    const cookie = cookies.map(([key, value]) => `${key.slice(origin.length + 1)}=${value}`).join('; ');
    const answer = await send(url, { method, headers: { ...(cookie === '' ? {} : { cookie }), ...headers }, body });
    for (const line of answer.headers['set-cookie'] ?? []) this.keep(origin, line);
    return answer;
  }

  /** Follows redirects; `turn` may change where each leads. */
  async follow(url: string, turn: (url: string) => string = (to) => to): Promise<Answer> {
    let answer = await this.visit(url);
    for (let left = 10; left > 0 && answer.status >= 300 && answer.status < 400; left -= 1) {
      answer = await this.visit(turn(new URL(String(answer.headers.location), answer.url).href));
    }
    return answer;
  }

  post(url: string, form: Readonly<Record<string, string>>, headers: Headers = {}): Promise<Answer> {
    const typed = { 'content-type': 'application/x-www-form-urlencoded', origin: new URL(url).origin };
    const body = new URLSearchParams(form).toString();
    return this.visit(url, { method: 'POST', headers: { ...typed, ...headers }, body });
  }

  private keep(origin: string, line: string): void {
    const [pair = ''] = line.split(';');
    const [name = '', value = ''] = pair.split('=');
    if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(line)) this.cookies.delete(`${origin} ${name}`);
    else this.cookies.set(`${origin} ${name}`, value);
  }
}

/** Sends a request as it is written; `fetch` would set Host and Origin itself. */
export function send(
  url: string,
  { method = 'GET', headers = {}, body }: Visit & { body?: unknown } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent: false });
    outgoing.on('error', reject).on('response', (response) => {
      const chunks: Buffer[] = [];
      response
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('error', reject)
        .on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ url, status: response.statusCode ?? 0, headers: response.headers, text });
        });
    });
    outgoing.end(body);
  });
}

/** Signs in by a link, as a person does. */
export async function signedIn(server: Pick<ConsoleServer, 'url' | 'mint'>, person = 'dana'): Promise<TestBrowser> {
  const browser = new TestBrowser();
  const code = await server.mint.mintLink(person, 60_000);
  const { status } = await browser.post(`${server.url}/sign-in/link`, { code });
  if (status !== 303) throw new Error(`the sign-in answered ${status}`);
  return browser;
}

/** The form token on the page of a browser that is signed in. */
export async function formToken(server: Pick<ConsoleServer, 'url'>, browser: TestBrowser): Promise<string> {
  const { text } = await browser.visit(server.url);
  return /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? '';
}
