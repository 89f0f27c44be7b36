/** Settles at the first Ctrl-C or SIGTERM; the second one does not wait for an orderly end. */
export function stopSignal(): Promise<'stop'> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) {
      process.once(name, () => {
        process.once(name, () => process.exit(130));
        resolve('stop');
      });
    }
  });
}
