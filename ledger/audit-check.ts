import { ZERO_HASH, chainHash, contentDigest, type AuditHead, type AuditRecord } from './audit-record';
import type { Checkpoint } from './checkpoint';

/**
 * What is wrong with an audit chain. `rewritten`: records before a signed checkpoint are not those that it signed;
 * `truncated`: the end was cut off; `malformed`: a line of an export that is not one.
 */
export type AuditFault =
  'changed' | 'missing' | 'reordered' | 'truncated' | 'rewritten' | 'head' | 'checkpoint' | 'malformed';

export interface AuditProblem {
  /** The first record that it concerns. */
  readonly seq: number;
  readonly what: AuditFault;
  readonly detail: string;
}

/** Problems that are told; what one change breaks needs no list of a million. */
const MAX_PROBLEMS = 100;

/** Follows a chain record by record and says what does not fit, and where. */
export class AuditCheck {
  readonly #problems = new Map<string, AuditProblem>();
  /** Records that are not what was hashed; two of them may have changed places. */
  readonly #suspects: AuditRecord[] = [];
  /** The checkpoints' places, and the hashes found there. */
  readonly #found: Map<number, string | undefined>;
  readonly #checkpoints: readonly Checkpoint[];
  #last: AuditHead = { seq: 0, hash: ZERO_HASH };
  #lastIsSuspect = false;
  records = 0;

  /** @param checkpoints whose signatures were checked */
  constructor(checkpoints: readonly Checkpoint[]) {
    this.#checkpoints = [...checkpoints].sort((a, b) => a.seq - b.seq);
    this.#found = new Map(checkpoints.map(({ seq }) => [seq, undefined]));
  }

  get last(): AuditHead {
    return this.#last;
  }

  accept(record: AuditRecord): void {
    const { seq, prevHash, hash } = record;
    const last = this.#last;
    this.records += 1;
    if (seq <= last.seq) {
      this.report({ seq, what: 'reordered', detail: `record ${seq} comes after record ${last.seq}` });
      return;
    }
    const isNext = seq === last.seq + 1;
    if (!isNext) this.report({ seq: last.seq + 1, what: 'missing', detail: `${range(last.seq + 1, seq - 1)} missing` });
    const isSuspect = chainHash({ prevHash, seq, digest: contentDigest(record.at, record) }) !== hash;
    if (isSuspect) this.#suspect(record);
    else if (isNext && prevHash !== last.hash && !this.#lastIsSuspect) this.#reportUnlinked(last.seq, seq);
    if (this.#found.has(seq)) this.#found.set(seq, hash);
    this.#last = { seq, hash };
    this.#lastIsSuspect = isSuspect;
  }

  /** What was found, in order of place; `head` is null where the chain has lost its own. */
  finish(head: AuditHead | null): readonly AuditProblem[] {
    this.#explainReordered();
    this.#checkHead(head);
    this.#checkCheckpoints();
    return [...this.#problems.values()].sort((a, b) => a.seq - b.seq);
  }

  report(problem: AuditProblem): void {
    if (this.#problems.size < MAX_PROBLEMS) this.#problems.set(`${problem.what} ${problem.seq}`, problem);
  }

  #suspect(record: AuditRecord): void {
    const { seq } = record;
    if (this.#suspects.length < MAX_PROBLEMS) this.#suspects.push(record);
    this.report({ seq, what: 'changed', detail: `record ${seq} is not what was recorded` });
  }

  #reportUnlinked(seq: number, successor: number): void {
    const detail =
      seq === 0 ? `record 1 is not the first of a chain` : `record ${successor} was chained to another record ${seq}`;
    this.report({ seq: Math.max(seq, 1), what: 'changed', detail });
  }

  #explainReordered(): void {
    for (const moved of this.#suspects) {
      const place = this.#suspects.find((other) => other !== moved && wasRecordedAt(moved, other));
      if (place === undefined) continue;
      this.#problems.delete(`changed ${moved.seq}`);
      const detail = `record ${moved.seq} holds what was recorded as ${place.seq}`;
      this.report({ seq: moved.seq, what: 'reordered', detail });
    }
  }

  #checkHead(head: AuditHead | null): void {
    const { seq, hash } = this.#last;
    if (head === null) this.report({ seq, what: 'head', detail: 'the head of the chain is missing' });
    else if (head.seq > seq) this.#reportCutOff(`${range(seq + 1, head.seq)} cut off: the head names ${head.seq}`);
    else if (head.seq < seq) {
      this.report({ seq: head.seq, what: 'head', detail: `the head names record ${head.seq}, the last one is ${seq}` });
    } else if (head.hash !== hash && !this.#lastIsSuspect) {
      this.report({ seq, what: 'changed', detail: `the head was chained to another record ${seq}` });
    }
  }

  #checkCheckpoints(): void {
    let agreed = 0;
    for (const { seq, hash, keyId, at } of this.#checkpoints) {
      const found = this.#found.get(seq);
      const signed = `the checkpoint of ${new Date(at).toISOString()} (key ${keyId})`;
      if (found === hash) {
        agreed = seq;
      } else if (found !== undefined) {
        const detail = `${range(agreed + 1, seq)} not those that ${signed} covers`;
        this.report({ seq: agreed + 1, what: 'rewritten', detail });
        return;
      } else if (seq > this.#last.seq) {
        this.#reportCutOff(`${range(this.#last.seq + 1, seq)} cut off: ${signed} covers ${seq}`);
        return;
      }
    }
  }

  #reportCutOff(detail: string): void {
    this.report({ seq: this.#last.seq + 1, what: 'truncated', detail });
  }
}

/** Whether a record stood at `place`: it was moved there whole, or only what it says was. */
function wasRecordedAt(moved: AuditRecord, place: AuditRecord): boolean {
  const digest = contentDigest(moved.at, moved);
  return (
    chainHash({ prevHash: moved.prevHash, seq: place.seq, digest }) === moved.hash ||
    chainHash({ prevHash: place.prevHash, seq: place.seq, digest }) === place.hash
  );
}

function range(first: number, last: number): string {
  return first === last ? `record ${first} is` : `records ${first} to ${last} are`;
}
