import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Hono } from 'hono';

/** Name and type of each. */
export const ASSET_FILES = {
  'console.css': 'text/css; charset=utf-8',
  'reports.css': 'text/css; charset=utf-8',
  'console.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const;

/**
 * The files that pages load, for everybody, signed in or not: read once, and asked for again by their digest (`ETag`),
 * so that a page never meets the style or script of another version.
 */
export function createAssets(): Hono {
  const assets = new Hono();
  for (const [name, type] of Object.entries(ASSET_FILES)) {
    const bytes = readFileSync(join(__dirname, name));
    const tag = `"${createHash('sha256').update(bytes).digest('base64url')}"`;
    assets.get(`/${name}`, (c) => {
      c.header('ETag', tag);
      c.header('Cache-Control', 'no-cache');
      if (c.req.header('If-None-Match') === tag) return c.body(null, 304);
      return c.body(bytes, 200, { 'Content-Type': type });
    });
  }
  return assets;
}
