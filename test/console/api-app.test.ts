import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { createApp } from '../../console/app';
import { openLiveFeed } from '../../console/live/live-feed';
import { createMint, newSealKey } from '../../console/sign-in/mint';
import { consoleApi, type ConsoleApi } from '../support/console-api';
import { readEvents } from '../support/event-reader';
import { eventually } from '../support/eventually';
import { formToken, signedIn } from './sign-in-stage';

const key = Buffer.from(newSealKey(), 'base64url');
const HOUR_MS = 3_600_000;
let api: ConsoleApi;
let url: string;
let stop: () => Promise<void>;

beforeAll(async () => {
  api = await consoleApi();
  const { reviews, log, store } = api;
  const live = openLiveFeed({ store, log });
  const settings = {
    ...{ host: '127.0.0.1', port: 0, publicUrl: null, hosts: [], origins: [], oidc: null },
    ...{ key, signingKey: null, sessionMs: HOUR_MS, metricsToken: null },
  };
  const app = createApp({
    settings,
    reviews,
    live,
    activeNow: () => api.ledger.activePolicy(),
    log,
    readMetrics: async () => '',
  });
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`;
  stop = async () => {
    await live.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
});

afterAll(async () => {
  await stop();
  await api.close();
});

const tokenOf = async (name: string) => `Bearer ${await createMint(key).mintToken(name, HOUR_MS)}`;

it('gives the document to everybody, and all else to who has a token', async () => {
  const document = await fetch(`${url}/openapi.json`);
  expect(await document.json()).toEqual(api.document);
  for (const authorization of ['', 'Bearer abc', 'Basic ZGFuYTo=', await tokenOf('nobody')]) {
    const answer = await fetch(`${url}/me`, { headers: { authorization } });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([401, 'application/problem+json']);
  }
  const me = await fetch(`${url}/me`, { headers: { authorization: await tokenOf('omar') } });
  expect(await me.json()).toMatchObject({ name: 'omar', isOperator: true });
});

it('streams events through everything that stands before it', async () => {
  const reader = await readEvents(`${url}/events`, { authorization: await tokenOf('dana') });
  await eventually(() => {
    expect(reader.lastId()).not.toBe('');
  });
  const { operationId } = await api.ask();
  expect((await reader.until(2)).map((change) => change.operationId)).toEqual([operationId, operationId]);
  reader.close();
});

it.each(['/nothing', '', '/'])('answers the path %j that there is not by a problem', async (path) => {
  const answer = await fetch(url + path, { headers: { authorization: await tokenOf('dana') } });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'application/problem+json']);
});

it('ends the streams of a session at once when it is signed out, and no others', async () => {
  const at = { url: new URL(url).origin, mint: createMint(key) };
  const [leaving, staying] = [await signedIn(at), await signedIn(at)];
  const follow = async (browser: typeof leaving) => {
    const cookie = [...browser.cookies].map(([name, value]) => `${name.split(' ')[1] ?? ''}=${value}`).join('; ');
    const reader = await readEvents(`${at.url}/live`, { cookie });
    await eventually(() => {
      expect(reader.lastId()).not.toBe('');
    });
    return { reader, cookie };
  };
  const [left, other, stayed] = [await follow(leaving), await follow(leaving), await follow(staying)];
  const out = await leaving.post(`${at.url}/sign-out`, { csrf: await formToken(at, leaving) });
  expect(out.status).toBe(303);
  await Promise.all([left.reader.ended, other.reader.ended]);
  const { operationId } = await api.ask();
  expect((await stayed.reader.until(2)).map((change) => change.operationId)).toEqual([operationId, operationId]);
  expect(left.reader.text()).not.toContain(operationId);
  expect((await readEvents(`${at.url}/live`, { cookie: left.cookie })).status).toBe(401);
  stayed.reader.close();
});
