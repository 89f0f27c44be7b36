import fc from 'fast-check';

/** Any JSON value that plain readers may be given, `__proto__` and lone surrogates among its names and texts too. */
export const anyJson = fc.jsonValue({ stringUnit: 'binary' });

/** A JSON text of a value, then up to three characters changed: near misses find more than noise does. */
export const almostJson = fc
  .tuple(
    anyJson,
    fc.array(fc.tuple(fc.nat(), fc.constantFrom(...Array.from('{}[]",:\\u0-+.eE19tfn \n\t\0\ud800\udc00'))), {
      maxLength: 3,
    }),
  )
  .map(([value, edits]) => {
    let text = JSON.stringify(value);
    for (const [position, char] of edits) {
      const at = position % (text.length + 1);
      text = text.slice(0, at) + char + text.slice(at + (position % 2));
    }
    return text;
  });
