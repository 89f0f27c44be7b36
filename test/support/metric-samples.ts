/** The samples of a text in the format of Prometheus, each as `name{labels}` with its value; refuses a line that is none. */
export function samplesOf(text: string): ReadonlyMap<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || /^# (HELP [a-z_]+ .|TYPE [a-z_]+ (counter|gauge|histogram)$)/.test(line)) continue;
    const found = /^([a-z_]+(?:\{(?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+\})?) (-?\d+(?:\.\d+)?)$/.exec(line);
    const [, sample, value] = found ?? [];
    if (sample === undefined || samples.has(sample)) throw new Error(`no sample, or one that was there: ${line}`);
    samples.set(sample, Number(value));
  }
  return samples;
}

/** Each name of the text with the labels that its samples have. */
export function namesOf(text: string): ReadonlyMap<string, ReadonlySet<string>> {
  const names = new Map<string, ReadonlySet<string>>();
  for (const sample of samplesOf(text).keys()) {
    const [name = '', labels = ''] = sample.split('{');
    const own = [...labels.matchAll(/([a-z]+)="(?:[^"\\]|\\.)*"/g)].map(([, label = '']) => label);
    names.set(name, new Set([...(names.get(name) ?? []), ...own]));
  }
  return names;
}
