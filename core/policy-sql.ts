import { text } from './policy-fields';

/** String literals, quoted names and comments: what looks like a placeholder in them is none. */
const QUOTED = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\//g;

/** One reading statement with one placeholder, `?` or `$1`, for the operation id. */
export const lookUpQuery = text((value) => {
  const bare = value.replace(QUOTED, ' ').trim().replace(/;$/, '');
  if (!/^(select|with)\b/i.test(bare) || bare.includes(';')) {
    return { message: 'must be one SELECT statement', hint: 'A look-up only reads.' };
  }
  const placeholders = bare.match(/\?|\$\d+/g) ?? [];
  if (placeholders.length === 1 && /^(\?|\$1)$/.test(placeholders.join())) return null;
  const message = `must have one placeholder for the operation id, ? or $1, not ${placeholders.length}`;
  return { message, hint: 'For example: SELECT applied FROM migrations WHERE operation_id = ?' };
});
