import { parser } from '@prometheus-io/lezer-promql';

export interface Selector {
  readonly metric: string;
  readonly labels: readonly string[];
}

/** What an expression reads: each metric with the labels that it is chosen by, and every label that is grouped by. */
export interface Read {
  readonly selectors: readonly Selector[];
  readonly grouping: readonly string[];
}

/** Parses an expression of PromQL; throws where it is none. */
export function readPromql(expression: string): Read {
  const selectors: { readonly metric: string; readonly labels: string[] }[] = [];
  const grouping: string[] = [];
  let isGrouping = false;
  const cursor = parser.parse(expression).cursor();
  do {
    const text = expression.slice(cursor.from, cursor.to);
    if (cursor.type.isError) throw new Error(`no PromQL at ${cursor.from}: ${expression}`);
    if (cursor.name === 'VectorSelector')
      selectors.push({ metric: /^[a-zA-Z_:]\w*/.exec(text)?.[0] ?? '', labels: [] });
    if (cursor.name === 'GroupingLabels') isGrouping = true;
    if (cursor.name === 'LabelMatchers') isGrouping = false;
    if (cursor.name !== 'LabelName') continue;
    if (isGrouping) grouping.push(text);
    else selectors.at(-1)?.labels.push(text);
  } while (cursor.next());
  return { selectors, grouping };
}
