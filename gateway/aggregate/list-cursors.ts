import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { parseJson } from '../../activities/rpc';
import { isJsonObject } from '../../core/json';

/** Where a list goes on at each server that has more of it. */
export type Places = ReadonlyMap<string, string>;

const FORM = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/;

/** Cursors that hold a place for each server, and that nobody else can make: a server gets only what it gave out. */
export class ListCursors {
  private readonly key = randomBytes(32);

  write(method: string, places: Places): string {
    const held = Buffer.from(JSON.stringify(Object.fromEntries(places))).toString('base64url');
    return `${held}.${this.seal(method, held)}`;
  }

  /** Null for a cursor of another session or list, and for one that was altered. */
  read(method: string, cursor: string): Places | null {
    const [, held = '', mac = ''] = FORM.exec(cursor) ?? [];
    const expected = this.seal(method, held);
    if (mac.length !== expected.length || !timingSafeEqual(Buffer.from(mac), Buffer.from(expected))) return null;
    const value = parseJson(Buffer.from(held, 'base64url').toString('utf8'));
    if (value === undefined || !isJsonObject(value)) return null;
    return new Map(
      Object.entries(value).flatMap(([server, place]) => (typeof place === 'string' ? [[server, place]] : [])),
    );
  }

  private seal(method: string, held: string): string {
    return createHmac('sha256', this.key)
      .update(JSON.stringify([method, held]))
      .digest('base64url');
  }
}
