import { Hono } from 'hono';
import { createPages } from '../../console/pages/create-pages';
import type { Env, Reviews, Viewer } from '../../console/ports';
import { eventually } from '../support/eventually';
import { recordedLog } from '../support/recorded-log';
import { VIEWER } from '../support/request-views';

const OPERATOR: Viewer = { ...VIEWER, name: 'omar', isOperator: true };

async function* lines(count: number, fails = false): AsyncGenerator<string> {
  for (let line = 1; line <= count; line += 1) yield await Promise.resolve(`{"line":${line}}`);
  if (fails) throw new Error('the ledger is away');
}

function exporting(auditExport: Reviews['auditExport']) {
  const log = recordedLog();
  const app = new Hono<Env>();
  app.use(async (c, next) => {
    c.set('viewer', OPERATOR);
    c.set('csrf', 'x');
    await next();
  });
  app.route('/', createPages({ reviews: { auditExport } as Reviews, log }));
  return { log, answer: app.request('/audit/export') };
}

describe('an export of the audit', () => {
  it('is a file of lines, and who took it is in the log', async () => {
    const { log, answer } = exporting(() => lines(2));
    const { headers, status } = await answer;
    expect([status, headers.get('content-disposition')]).toEqual([200, 'attachment; filename="holdpoint-audit.jsonl"']);
    expect(await (await answer).text()).toBe('{"line":1}\n{"line":2}\n');
    expect(log.entries).toEqual([{ level: 'info', fields: { by: 'omar' }, event: 'console.auditExport' }]);
  });

  it('that breaks off has no more than came before, and the log says why', async () => {
    const { log, answer } = exporting(() => lines(1, true));
    expect(await (await answer).text()).toBe('{"line":1}\n');
    expect(log.entries.at(-1)).toEqual({
      level: 'error',
      fields: { error: 'Error: the ledger is away' },
      event: 'console.auditExportFailed',
    });
  });

  it('reads no further once its reader has gone', async () => {
    let [read, isEnded] = [0, false];
    const all = async function* (): AsyncGenerator<string> {
      try {
        for await (const line of lines(100_000)) {
          read += 1;
          yield line;
        }
      } finally {
        isEnded = true;
      }
    };
    const reader = (await exporting(all).answer).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await eventually(() => expect(isEnded).toBe(true));
    expect(read).toBeLessThan(100_000);
  });
});
