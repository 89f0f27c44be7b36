import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseYaml } from 'yaml';
import { startDrivenConsole } from '../support/driven-console';
import { namesOf } from '../support/metric-samples';
import { readPromql } from '../support/promql';

const fileOf = (path: string) => readFileSync(join(__dirname, '../..', path), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly refId: string; readonly legendFormat: string }[];
}

const RULES = parseYaml(fileOf('deploy/prometheus/holdpoint-rules.yml'), { uniqueKeys: true, strict: true }) as {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
};
const DASHBOARD = JSON.parse(fileOf('deploy/grafana/holdpoint.json')) as { readonly panels: readonly Panel[] };
const DOCS = fileOf('docs/monitoring.md');

const alerts = RULES.groups.flatMap(({ rules }) => rules);
const drawn = DASHBOARD.panels.filter(({ type }) => type !== 'row');
/** Of Prometheus and of whoever scrapes. */
const SCRAPED: ReadonlyMap<string, readonly string[]> = new Map([['up', ['job', 'instance']]]);

/** Every metric that the console really gives, with its labels. */
let given: ReadonlyMap<string, ReadonlySet<string>>;

beforeAll(async () => {
  const served = await startDrivenConsole(Date.UTC(2026, 0, 1, 10));
  given = namesOf(await (await served.scrape()).text());
  await served.close();
});

/** What an expression reads that nobody gives. */
function unknownIn(expression: string): readonly string[] {
  const { selectors, grouping } = readPromql(expression);
  expect(selectors.length).toBeGreaterThan(0);
  const labelsOf = (metric: string) => [...(given.get(metric) ?? SCRAPED.get(metric) ?? []), 'job'];
  const known = new Set(selectors.flatMap(({ metric }) => labelsOf(metric)));
  return [
    ...selectors.flatMap(({ metric }) => (given.has(metric) || SCRAPED.has(metric) ? [] : [metric])),
    ...selectors.flatMap(({ metric, labels }) => labels.filter((label) => !labelsOf(metric).includes(label))),
    ...grouping.filter((label) => !known.has(label)),
  ];
}

describe('the alert rules', () => {
  it.each(alerts.map((rule) => [rule.alert, rule] as const))('%s reads what /metrics gives', (_alert, rule) => {
    expect(unknownIn(rule.expr)).toEqual([]);
    expect(rule.for ?? '1m').toMatch(/^\d+[smhd]$/);
    expect(['warning', 'critical']).toContain(rule.labels['severity']);
    expect(Object.keys(rule.annotations)).toEqual(['summary', 'description']);
  });

  it('name no label in their texts that their expression has not grouped by', () => {
    for (const { expr, annotations } of alerts) {
      const named = [
        ...Object.values(annotations)
          .join(' ')
          .matchAll(/\$labels\.(\w+)/g),
      ].map(([, label]) => label);
      expect(readPromql(expr).grouping).toEqual(expect.arrayContaining(named));
    }
  });

  it('have names of their own, each of which docs/monitoring.md explains', () => {
    const listed = [...DOCS.matchAll(/^\| `(Holdpoint\w+)` \|/gm)].map(([, name]) => name);
    expect(listed).toEqual(alerts.map(({ alert }) => alert));
    expect(new Set(listed).size).toBe(listed.length);
  });
});

describe('the dashboard', () => {
  it.each(drawn.map((panel) => [panel.title, panel] as const))(
    'panel "%s" reads what /metrics gives',
    (_title, panel) => {
      const targets = panel.targets ?? [];
      expect(targets.length).toBeGreaterThan(0);
      expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
      for (const { expr, legendFormat } of targets) {
        const plain = expr.replaceAll('$__rate_interval', '5m');
        expect(unknownIn(plain)).toEqual([]);
        const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
        expect(readPromql(plain).grouping).toEqual(expect.arrayContaining(shown));
      }
    },
  );

  it('has panels that lie beside each other, each with a number of its own', () => {
    const { panels } = DASHBOARD;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, nth) => `${x + (nth % w)},${y + Math.floor(nth / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
  });

  it('leaves no metric out', () => {
    const shown = drawn.flatMap(({ targets = [] }) =>
      targets.flatMap(({ expr }) => readPromql(expr.replaceAll('$__rate_interval', '5m')).selectors),
    );
    const read = new Set(shown.map(({ metric }) => metric.replace(/_(bucket|sum|count)$/, '')));
    const names = new Set([...given.keys()].map((name) => name.replace(/_seconds_(bucket|sum|count)$/, '_seconds')));
    expect([...names].filter((name) => !read.has(name))).toEqual([]);
  });
});

describe('docs/monitoring.md', () => {
  it('lists every metric that /metrics gives, with its labels, and no other', () => {
    const rows = [...DOCS.matchAll(/^\| `(holdpoint_\w+)` \| ([a-z, ]*)\|/gm)];
    const listed = rows.map(([, name = '', labels = '']) => [name, labels.trim()].join(': '));
    const plain = new Map(
      [...given].map(([name, labels]) => [
        name.replace(/_seconds_(bucket|sum|count)$/, '_seconds'),
        [...labels].filter((label) => label !== 'le').join(', '),
      ]),
    );
    expect([...listed].sort()).toEqual([...plain].map((pair) => pair.join(': ')).sort());
  });
});

it('refuses an expression that is none, and one that reads what nobody gives', () => {
  expect(() => readPromql('sum(')).toThrow('no PromQL');
  expect(unknownIn('max by (person) (holdpoint_ledger_up{user="x"}) > holdpoint_gone')).toEqual([
    'holdpoint_gone',
    'user',
    'person',
  ]);
});
