import { Hold } from './hold';

/** Operations of which this gateway remembers that it has said to collect them. */
const MOST_COLLECTED = 10_000;

/** The operations that this gateway holds, and those of which their turn knows that it is there. */
export class Holds {
  private readonly held = new Map<string, Hold>();
  /** Turns to which this gateway said that it collects, until they found nobody here. */
  private readonly collected = new Set<string>();

  get(operationId: string): Hold | undefined {
    return this.held.get(operationId);
  }

  getOrAdd(operationId: string): Hold {
    const known = this.held.get(operationId);
    if (known !== undefined) return known;
    const hold = new Hold(operationId);
    this.held.set(operationId, hold);
    return hold;
  }

  /** Forgets a hold that nobody waits for. */
  release(hold: Hold): void {
    if (hold.isEmpty && this.held.get(hold.operationId) === hold) this.held.delete(hold.operationId);
  }

  isCollected(operationId: string): boolean {
    return this.collected.has(operationId);
  }

  noteCollected(operationId: string): void {
    this.collected.add(operationId);
    const [oldest] = this.collected;
    if (this.collected.size > MOST_COLLECTED && oldest !== undefined) this.collected.delete(oldest);
  }

  /** Its turn found nobody here, or has ended: it has to be told again. */
  forgetCollected(operationId: string): void {
    this.collected.delete(operationId);
  }
}
