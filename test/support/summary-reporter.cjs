'use strict';

const { writeSync } = require('node:fs');

/** Ends the run with one plain line that any log reader understands: `N passed, N failed[, N skipped]`. */
class SummaryReporter {
  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests + results.numTodoTests;
    const tail = skipped > 0 ? `, ${skipped} skipped` : '';
    // At exit, because Jest prints its own summary after the reporters have run.
    process.once('exit', () => writeSync(1, `${results.numPassedTests} passed, ${failed} failed${tail}\n`));
  }
}

module.exports = SummaryReporter;
