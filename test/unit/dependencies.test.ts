import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}

const root = join(__dirname, '../..');
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
  'dependencies' | 'devDependencies',
  Record<string, string>
>;

const installed = (pattern: RegExp) =>
  Object.entries(packages)
    .filter(([path]) => pattern.test(path))
    .map(([path, { version }]) => [path, version] as const);

test('every Temporal package has the same exact version [ENG-12]', () => {
  const named = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) =>
    name.startsWith('@temporalio/'),
  );
  expect(named.length).toBeGreaterThan(5);
  expect(new Set(named.map(([, version]) => version))).toEqual(new Set(['1.24.0']));
  const versions = installed(/node_modules\/@temporalio\/[^/]+$/).map(([, version]) => version);
  expect(new Set(versions)).toEqual(new Set(['1.24.0']));
});

test.each(['@temporalio/proto', '@temporalio/common', '@temporalio/client', 'proto3-json-serializer'])(
  '%s uses the one protobufjs, of version 8: with another one no JSON history replays [ENG-12]',
  (name) => {
    // `@grpc/proto-loader` brings its own, which no Temporal package sees.
    const nested = installed(/node_modules\/protobufjs$/).filter(([path]) => path.startsWith(`node_modules/${name}/`));
    expect(nested).toEqual([]);
    expect(packages['node_modules/protobufjs']?.version).toMatch(/^8\./);
  },
);
