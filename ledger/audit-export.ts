import { z } from 'zod';
import { parseStrictJson } from '../core/json';
import { AuditCheck } from './audit-check';
import { readChain, readCheckpoints } from './audit-read';
import { auditReport, judgeCheckpoints, type AuditReport, type VerifyOptions } from './audit-verify';
import type { Checkpoint } from './checkpoint';
import { readEpoch } from './meta';
import type { Store } from './transaction';

const MAX_LINE_BYTES = 8 * 1024 * 1024;
const FORMAT = 'holdpoint/audit-export/1';

const place = { seq: z.int().nonnegative(), hash: z.string() };

/** The lines of an export, in this order: one start, the checkpoints, the records, one end. */
const startLine = z.strictObject({
  line: z.literal('start'),
  format: z.literal(FORMAT),
  epoch: z.string(),
  at: z.int(),
});
const checkpointLine = z.strictObject({
  line: z.literal('checkpoint'),
  ...place,
  at: z.int(),
  keyId: z.string(),
  signature: z.string(),
});
const recordLine = z.strictObject({
  line: z.literal('record'),
  ...place,
  at: z.int(),
  kind: z.string(),
  operationId: z.string().nullable(),
  body: z.string(),
  prevHash: z.string(),
});
const endLine = z.strictObject({ line: z.literal('end'), ...place });
const exportLine = z.discriminatedUnion('line', [startLine, checkpointLine, recordLine, endLine]);

type ExportLine = z.infer<typeof exportLine>;

/** The audit chain as lines of JSON, each without its line break. */
export async function* exportAudit(store: Store): AsyncGenerator<string> {
  yield written({ line: 'start', format: FORMAT, epoch: await readEpoch(store.db), at: await store.nowMs() });
  for (const checkpoint of await readCheckpoints(store.db)) yield written({ line: 'checkpoint', ...checkpoint });
  for await (const part of readChain(store.db)) {
    if (part.part === 'records') for (const record of part.records) yield written({ line: 'record', ...record });
    // A chain without its head gets no end either, and so is not sound.
    else if (part.head !== null) yield written({ line: 'end', ...part.head });
  }
}

/** Verifies an export without its ledger. A line that is none, or a missing end, is a problem as well. */
export async function verifyAuditExport(
  lines: AsyncIterable<string> | Iterable<string>,
  options: VerifyOptions,
): Promise<AuditReport> {
  const reader = new ExportReader(options);
  for await (const line of lines) if (line !== '') reader.accept(line);
  return reader.finish();
}

class ExportReader {
  readonly #options: VerifyOptions;
  readonly #stored: Checkpoint[] = [];
  #judged = judgeCheckpoints([], { publicKeys: [] });
  #check: AuditCheck | undefined;
  #end: { readonly seq: number; readonly hash: string } | undefined;
  #lines = 0;

  constructor(options: VerifyOptions) {
    this.#options = options;
  }

  accept(text: string): void {
    this.#lines += 1;
    const line = parseLine(text);
    if (line === undefined || this.#end !== undefined || (line.line === 'start') !== (this.#lines === 1)) {
      this.#malformed(`line ${this.#lines} is not a line of an audit export at its place`);
    } else if (line.line === 'checkpoint' && this.#check === undefined) {
      this.#stored.push(line);
    } else if (line.line === 'checkpoint') {
      this.#malformed(`line ${this.#lines} is a checkpoint after a record`);
    } else if (line.line === 'record') {
      this.#records().accept(line);
      this.#options.onProgress?.(this.#records().records);
    } else if (line.line === 'end') {
      this.#end = line;
    }
  }

  finish(): AuditReport {
    const check = this.#records();
    if (this.#end === undefined) {
      check.report({ seq: check.last.seq + 1, what: 'truncated', detail: 'the export has no last line' });
    }
    return auditReport(check, { head: this.#end ?? check.last, judged: this.#judged });
  }

  #malformed(detail: string): void {
    const check = this.#records();
    check.report({ seq: check.last.seq + 1, what: 'malformed', detail });
  }

  /** The check begins with the first record, because it has to know the checkpoints. */
  #records(): AuditCheck {
    if (this.#check !== undefined) return this.#check;
    this.#judged = judgeCheckpoints(this.#stored, this.#options);
    this.#check = new AuditCheck(this.#judged.signed);
    return this.#check;
  }
}

function parseLine(text: string): ExportLine | undefined {
  const json = parseStrictJson(text, { maxBytes: MAX_LINE_BYTES });
  if (!json.ok) return undefined;
  const parsed = exportLine.safeParse(json.value);
  return parsed.success ? parsed.data : undefined;
}

function written(line: ExportLine): string {
  return JSON.stringify(line);
}
