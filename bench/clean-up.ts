type Step = () => Promise<unknown>;

const pending: Step[] = [];

/** Keeps what has to be undone for when the run is interrupted. The answer undoes it at once. */
export function undoLater(step: Step): () => Promise<void> {
  pending.push(step);
  return async () => {
    const index = pending.indexOf(step);
    if (index === -1) return;
    pending.splice(index, 1);
    await step();
  };
}

/** Undoes everything, the latest first, whatever fails. */
async function undoAll(): Promise<void> {
  for (const step of pending.splice(0).reverse()) await step().catch(() => undefined);
}

/** Ctrl-C and its kind leave nothing behind. */
export function cleanUpWhenInterrupted(): void {
  const end = (signal: NodeJS.Signals): void => {
    console.error(`ended by ${signal}`);
    // What is under way fails now, here and there, and that is no news.
    process.on('uncaughtException', () => undefined).on('unhandledRejection', () => undefined);
    console.error = () => undefined;
    void undoAll().finally(() => process.exit(signal === 'SIGINT' ? 130 : 143));
  };
  process.once('SIGINT', end).once('SIGTERM', end);
}
