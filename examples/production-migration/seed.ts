import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';

/** The environments that the example knows. */
export const ENVIRONMENTS = ['staging', 'production'] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

/** The file of an environment's database. */
export function databasePath(dataDir: string, environment: Environment): string {
  return join(dataDir, `orders-${environment}.db`);
}

/** Creates a small orders database at version 7 for each environment that has none yet. */
export function seed(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true });
  for (const environment of ENVIRONMENTS) {
    const path = databasePath(dataDir, environment);
    if (existsSync(path)) continue;
    const database = new DatabaseSync(path);
    database.exec(`BEGIN;
      CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT);
      CREATE TABLE orders (
        id INTEGER PRIMARY KEY,
        customer_id INTEGER NOT NULL REFERENCES customers (id),
        total_cents INTEGER NOT NULL,
        status TEXT NOT NULL DEFAULT 'open',
        legacy_note TEXT
      );
      CREATE INDEX orders_by_customer ON orders (customer_id);
      INSERT INTO customers VALUES (1, 'Noor', 'noor@example.com'), (2, 'Ivo', 'ivo@example.com');
      INSERT INTO orders VALUES (1, 1, 4200, 'paid', 'gift'), (2, 1, 1999, 'open', NULL), (3, 2, 12500, 'paid', NULL);
      PRAGMA user_version = 7;
      COMMIT`);
    database.close();
  }
}
