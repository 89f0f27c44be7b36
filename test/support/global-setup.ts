import { readdirSync } from 'node:fs';
import { join, sep } from 'node:path';
import { startServices, type Service } from './services';

/** What the tests of a folder need; a folder that is not listed gets everything. */
const NEEDS: Readonly<Record<string, readonly Service[]>> = {
  unit: [],
  mcp: [],
  ledger: ['postgres'],
  cli: ['temporal'],
  console: ['temporal', 'postgres', 'chromium'],
};

/** The part of Jest's configuration that says which files run. */
interface Selection {
  readonly rootDir: string;
  readonly testPathPatterns: {
    toExecutor(options: { rootDir: string }): { isMatch(path: string): boolean };
  };
}

export default async function globalSetup({ rootDir, testPathPatterns }: Selection): Promise<void> {
  const root = join(rootDir, 'test');
  const isSelected = testPathPatterns.toExecutor({ rootDir });
  const services = new Set<Service>();
  for (const file of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.test.ts') || !isSelected.isMatch(join(root, file))) continue;
    const [folder = '', ...rest] = file.split(sep);
    const needs = rest.length === 0 ? [] : (NEEDS[folder] ?? (['temporal', 'postgres'] as const));
    for (const service of needs) services.add(service);
  }
  await startServices(services);
}
