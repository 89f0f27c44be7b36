import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { generateReviewerKey } from '../client';
import { readConsoleSettings } from '../console/settings';
import { newSealKey } from '../console/sign-in/mint';
import { newToken } from '../gateway/edge/new-token';
import { readEdgeSettings } from '../gateway/edge/settings';
import { SEARCH_ATTRIBUTES, SERVER_SETTINGS } from '../worker/temporal-server';

interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly (string | object)[];
  readonly healthcheck?: object;
  readonly restart?: string;
}

const ROOT = join(__dirname, '..');
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8');
const text = read('docker-compose.yml');
const { services } = parse(text) as { services: Readonly<Record<string, Service>> };
const environment = Object.values(services).flatMap((service) => Object.entries(service.environment ?? {}));

describe('docker-compose.yml', () => {
  test('fits the Compose schema and has no lint warning', () => {
    const linter = join(ROOT, 'node_modules/dclint/bin/dclint.cjs');
    const file = join(ROOT, 'docker-compose.yml');
    const { status, stdout } = spawnSync(process.execPath, [linter, '--max-warnings', '0', file], { encoding: 'utf8' });
    expect({ status, stdout: stdout.trim() }).toEqual({ status: 0, stdout: '' });
  });

  test('has no password or key of its own: each is asked for, or read from a secret', () => {
    const secrets = environment.filter(([name]) => /PASSWORD|PWD|KEY/.test(name));
    expect(secrets.length).toBeGreaterThan(5);
    for (const [name, value] of secrets)
      expect(`${name}=${value}`).toMatch(/=(\$\{\w+:\?.+\}|\/run\/secrets\/[\w-]+)$/);
  });

  test('asks for what .env.example lists, and for nothing else', () => {
    const asked = new Set([...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name));
    const listed = [...read('.env.example').matchAll(/^(\w+)=/gm)].map(([, name]) => name);
    expect([...asked].sort()).toEqual(listed.sort());
  });

  test('opens ports to this host alone', () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports).toEqual(['127.0.0.1:8485:8485', '127.0.0.1:8484:8484', '127.0.0.1:7233:7233', '127.0.0.1:8080:8080']);
  });

  test('mounts only files that exist', () => {
    const mounts = Object.values(services).flatMap((service) => service.volumes ?? []);
    const local = mounts.filter((mount) => typeof mount === 'string').filter((mount) => mount.startsWith('./'));
    expect(local.length).toBeGreaterThan(0);
    for (const mount of local)
      expect([mount, existsSync(join(ROOT, mount.split(':')[0] ?? ''))]).toEqual([mount, true]);
  });

  test('checks the health of everything that keeps running', () => {
    const running = Object.entries(services).filter(([, { restart }]) => restart === 'unless-stopped');
    expect(running.map(([name, { healthcheck }]) => [name, healthcheck !== undefined])).toEqual([
      ['console', true],
      ['gateway', true],
      ['postgres', true],
      ['temporal', true],
      ['temporal-ui', true],
      ['worker', true],
    ]);
  });

  test('lets nobody decide in the Temporal UI, where anyone may claim any name', () => {
    expect(services['temporal-ui']?.environment).toMatchObject({ TEMPORAL_DISABLE_WRITE_ACTIONS: 'true' });
  });
});

describe('the gateway of docker-compose.yml', () => {
  const { worker, gateway } = services;

  test('works on the Temporal and the ledger of the worker, with the same keys', () => {
    const shared = Object.entries(gateway?.environment ?? {}).filter(([name]) => !/_(GATEWAY|CONSOLE)_/.test(name));
    expect(shared.map(([name]) => name)).toEqual([
      'TEMPORAL_ADDRESS',
      'TEMPORAL_NAMESPACE',
      'HOLDPOINT_LEDGER_URL',
      'HOLDPOINT_PERMIT_KEY_FILE',
      'HOLDPOINT_PAYLOAD_KEY',
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'OTEL_EXPORTER_OTLP_HEADERS',
    ]);
    expect(worker?.environment).toMatchObject(Object.fromEntries(shared));
  });

  test('keeps its tokens in a folder, where a file that is replaced is seen, and which its user owns in the image', () => {
    expect(gateway?.volumes).toContain('gateway-tokens:/var/lib/holdpoint');
    expect(gateway?.environment?.['HOLDPOINT_GATEWAY_TOKENS']).toBe('/var/lib/holdpoint/tokens.json');
    expect(read('Dockerfile')).toContain('--owner=node --group=node --mode=0700 /var/lib/holdpoint\nUSER node\n');
  });

  test('has settings that the gateway takes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdpoint-compose-'));
    const tokens = join(folder, 'tokens.json');
    newToken(tokens, { subject: 'user:amira', agent: 'bot' });
    const env = { ...gateway?.environment, HOLDPOINT_GATEWAY_TOKENS: tokens };
    expect(readEdgeSettings(env)).toMatchObject({ ok: true, settings: { host: '0.0.0.0', port: 8484 } });
    rmSync(folder, { recursive: true });
  });
});

describe('the console of docker-compose.yml', () => {
  const { worker, gateway, console } = services;

  test('works on the Temporal and the ledger of the worker, and has no key of permits', () => {
    const shared = Object.entries(console?.environment ?? {}).filter(([name]) => !name.includes('_CONSOLE_'));
    expect(shared.map(([name]) => name)).toEqual([
      'TEMPORAL_ADDRESS',
      'TEMPORAL_NAMESPACE',
      'HOLDPOINT_LEDGER_URL',
      'HOLDPOINT_PAYLOAD_KEY',
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'OTEL_EXPORTER_OTLP_HEADERS',
    ]);
    expect(worker?.environment).toMatchObject(Object.fromEntries(shared));
  });

  test('is where the answers of the gateway lead', () => {
    expect(gateway?.environment?.['HOLDPOINT_CONSOLE_URL']).toBe(
      console?.environment?.['HOLDPOINT_CONSOLE_PUBLIC_URL'],
    );
  });

  test('has settings that the console takes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdpoint-compose-'));
    const [key, signing] = [join(folder, 'key'), join(folder, 'signing')];
    writeFileSync(key, newSealKey(), { mode: 0o600 });
    writeFileSync(signing, generateReviewerKey().privateKey, { mode: 0o600 });
    const given = {
      HOLDPOINT_CONSOLE_PUBLIC_URL: 'https://approve.example',
      HOLDPOINT_CONSOLE_KEY_FILE: key,
      HOLDPOINT_CONSOLE_SIGNING_KEY_FILE: signing,
      ...{
        HOLDPOINT_CONSOLE_OIDC_ISSUER: '',
        HOLDPOINT_CONSOLE_OIDC_CLIENT_ID: '',
        HOLDPOINT_CONSOLE_OIDC_CLIENT_SECRET: '',
      },
    };
    const read = readConsoleSettings({ ...console?.environment, ...given });
    expect(read).toMatchObject({ ok: true, settings: { host: '0.0.0.0', port: 8485, oidc: null } });
    rmSync(folder, { recursive: true });
  });
});

describe('the production server', () => {
  test('gets the search attributes of the development server', () => {
    const created = [...read('deploy/temporal-setup.sh').matchAll(/--name (\w+) --type (\w+)/g)];
    expect(Object.fromEntries(created.map(([, name, type]) => [name, type]))).toEqual(SEARCH_ATTRIBUTES);
  });

  test('gets the settings of the development server', () => {
    const settings = parse(read('deploy/temporal-dynamic-config.yaml')) as Record<string, [{ value: number }]>;
    const values = Object.fromEntries(Object.entries(settings).map(([name, [{ value }]]) => [name, value]));
    expect(values).toEqual({ ...SERVER_SETTINGS, 'limit.maxIDLength': 255 });
  });
});
