import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { createApi, DOCUMENT_PATH } from '../../console/api/create-api';
import { problem } from '../../console/api/problem';
import type { StreamTimes } from '../../console/live/event-stream';
import { openLiveFeed } from '../../console/live/live-feed';
import type { Env, Reviews, Viewer } from '../../console/ports';
import { createReviews } from '../../console/reviews';
import { viewerOf } from '../../console/viewer-of';
import { generateReviewerKey } from '../../client/sign-decision';
import type { Person, Policy } from '../../core/policy';
import type { ApprovalRequest } from '../../core/request';
import { createLedger, type Active, type Ledger } from '../../ledger/ledger';
import { answersAsDocumented, type ApiAnswer } from './answers-as-documented';
import { breakable, type BreakableStore } from './breakable-store';
import { COVERING, activate, openPending, prepared, type CallShape } from './ledger-fixture';
import { recordedLog, type RecordedLog } from './recorded-log';
import { freshStore, type FreshStore } from './stores';

const person = (name: string, groups: string[]): Person => ({ name, groups, keys: [], subjects: [`user:${name}`] });

const KEY = generateReviewerKey();

/** dana and eli review, lena on escalation, amira asks and reviews nothing, omar operates, vik has nothing to do with it. */
export const CONSOLE_POLICY: Policy = {
  ...COVERING,
  trust: 'signatures',
  people: {
    dana: person('dana', ['dba']),
    eli: person('eli', ['dba']),
    lena: person('lena', ['dba-leads']),
    amira: person('amira', ['platform']),
    omar: person('omar', []),
    vik: person('vik', []),
  },
  console: { keys: [KEY.publicKey], operators: { groups: [], people: ['omar'] } },
};

export type PersonName = 'dana' | 'eli' | 'lena' | 'amira' | 'omar' | 'vik';

export interface Caller {
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<ApiAnswer>;
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<ApiAnswer>;
}

/** The API on a real server over a real ledger; decisions go to the ledger as the worker would give them to it. */
export interface ConsoleApi {
  readonly url: string;
  readonly fresh: FreshStore;
  readonly store: BreakableStore;
  readonly ledger: Ledger;
  readonly log: RecordedLog;
  readonly document: Readonly<Record<string, unknown>>;
  readonly reviews: Reviews;
  /** Takes the place of the turns, for what only they answer. */
  decide: (
    ...given: Parameters<Parameters<typeof createReviews>[0]['decide']>
  ) => ReturnType<Parameters<typeof createReviews>[0]['decide']>;
  /** Every answer is checked against the document. */
  as(name: PersonName): Caller;
  ask(shape?: CallShape): Promise<ApprovalRequest>;
  active(): Promise<Active>;
  apply(policy: Policy): Promise<void>;
  /** Whether the server holds the connection from this port open. */
  holds(port: number | undefined): boolean;
  send(method: string, path: string, init?: RequestInit): Promise<ApiAnswer>;
  close(): Promise<void>;
}

export interface ConsoleApiOptions {
  readonly clock?: () => number;
  readonly times?: StreamTimes;
}

export async function consoleApi({ clock, times }: ConsoleApiOptions = {}): Promise<ConsoleApi> {
  const fresh = await freshStore('sqlite', clock === undefined ? {} : { clock });
  const store = breakable(fresh.store);
  const ledger = createLedger(store, { defaultTrust: 'signatures' });
  await activate(ledger, CONSOLE_POLICY);
  const log = recordedLog();
  const live = openLiveFeed({ store, log });
  const reviews = createReviews({ ledger, decide: (...given) => api.decide(...given), signingKey: KEY.privateKey });
  const app = new Hono<Env>();
  app.use('*', async (c, next) => {
    const viewer = store.down
      ? WHILE_AWAY
      : await viewerOfToken(ledger, (c.req.header('authorization') ?? '').replace(/^Bearer /, ''));
    if (viewer !== null) c.set('viewer', viewer);
    else if (!c.req.path.endsWith(DOCUMENT_PATH)) return problem({ code: 'UNAUTHENTICATED' });
    await next();
    return undefined;
  });
  app.route('/api/v1', createApi({ reviews, live, log, times }));
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`;
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Readonly<Record<string, unknown>>;
  const check = answersAsDocumented(document);
  const active = async () => (await ledger.activePolicy())!;
  const send: ConsoleApi['send'] = async (method, path, init = {}) => {
    const response = await fetch(url + path, { method, ...init });
    const text = await response.text();
    const type = response.headers.get('content-type') ?? '';
    const body: unknown = /json/.test(type) && text !== '' ? JSON.parse(text) : null;
    const answer = { status: response.status, type, headers: response.headers, text, body };
    if (method !== 'HEAD') check(method, path, answer);
    return answer;
  };
  const close = async () => {
    await live.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await fresh.remove();
  };
  let closed: Promise<void> | null = null;
  const api: ConsoleApi = {
    ...{ url, fresh, store, ledger, log, document, reviews, active, send },
    holds: (port) => [...sockets].some(({ destroyed, remotePort }) => !destroyed && remotePort === port),
    decide: async (workflowId, decision) => (await ledger.recordDecision(decision, workflowId)).verdict,
    as: (name) => ({
      get: (path, headers = {}) => send('GET', path, { headers: { authorization: name, ...headers } }),
      post: (path, body, headers = {}) =>
        send('POST', path, {
          headers: { authorization: name, 'content-type': 'application/json', ...headers },
          body: typeof body === 'string' ? body : JSON.stringify(body),
        }),
    }),
    ask: async (shape = {}) => {
      const requester = { subject: 'user:amira', agent: 'bot', chain: [] };
      return openPending(ledger, prepared({ requester, ...shape }), await active());
    },
    apply: async (policy) => {
      await activate(ledger, policy);
    },
    close: () => (closed ??= close()),
  };
  return api;
}

/** Who asks while the ledger is away, so that what the API itself answers then can be seen. */
const WHILE_AWAY: Viewer = { name: 'dana', groups: ['dba'], isOperator: false, sessionId: 'away', signedInAtMs: 0 };

/** A token of these tests is the person's own name; nobody is an empty one. */
async function viewerOfToken(ledger: Ledger, token: string): Promise<Viewer | null> {
  const active = await ledger.activePolicy();
  return viewerOf(active, { person: token, sessionId: `test-${token}`, signedInAtMs: 1_796_121_000_000 });
}

/** What a person posts to allow or deny what they have read. */
export function answering(
  { revision, bindingDigest: digest }: Pick<ApprovalRequest, 'revision' | 'bindingDigest'>,
  answer: 'allow' | 'deny',
  more: Readonly<Record<string, unknown>> = {},
) {
  return { answer, revision, digest, ...(answer === 'deny' && { reason: 'not today' }), ...more };
}
