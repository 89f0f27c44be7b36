/** A place in a text, both from 1; columns count UTF-16 units. */
export type Place = { readonly line: number; readonly column: number };

/** Finds the place of an offset in `text`; the index of lines is made once. */
export function placeFinder(text: string): (offset: number) => Place {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let line = 0;
    let end = starts.length;
    while (end - line > 1) {
      const middle = (line + end) >> 1;
      if (Number(starts[middle]) <= offset) line = middle;
      else end = middle;
    }
    return { line: line + 1, column: offset - Number(starts[line]) + 1 };
  };
}
