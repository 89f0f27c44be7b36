import { parseJson } from '../../activities/rpc';
import { isJsonObject } from '../../core/json';
import { PENDING_FORM_SCHEMA } from '../answers/pending-form';
import { movedSchema } from './moved-schema';
import { isUsableSchema } from './usable-schema';

/** A compiler takes up to a second for so many, and holds up all other clients meanwhile. */
const MAX_SCHEMA_CHARS = 65_536;

const FORM = JSON.stringify(PENDING_FORM_SCHEMA);

/**
 * The text of an output schema that admits the pending form too: `anyOf` of the original, kept whole, and the form; at
 * the top the `type` that MCP wants there. Real results are held to the original as before.
 * Null where that cannot be had, so that the tool has to be listed without a schema: the original cannot be moved, no
 * client could compile it, it is longer than 65536 characters, or it is for something other than an object.
 * @param text JSON of the `outputSchema` as the server lists it.
 */
export function withPendingForm(text: string): string | null {
  if (text.length > MAX_SCHEMA_CHARS) return null;
  const schema = parseJson(text);
  if (schema === undefined || !isJsonObject(schema)) return null;
  if (schema['type'] !== undefined && schema['type'] !== 'object') return null;
  const moved = movedSchema(text, '/anyOf/0');
  if (moved === null) return null;
  const dialect = moved.dialect === null ? '' : `"$schema":${moved.dialect},`;
  const listed = `{${dialect}"type":"object","anyOf":[${moved.text},${FORM}]}`;
  const value = parseJson(listed);
  return value !== undefined && isJsonObject(value) && isUsableSchema(listed, value) ? listed : null;
}
