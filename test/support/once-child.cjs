'use strict';

// Runs one operation on the SQLite file given, and is killed at the step given.
require('./ts-hook.cjs');
const { DatabaseSync } = require('@photostructure/sqlite');
const { inSqlite, killAt, once } = require('../../client/tool');

const [file, operationId, step] = process.argv.slice(2);
const database = new DatabaseSync(file);
const effect = () => {
  database.exec("INSERT INTO effects VALUES ('done')");
  return { done: true };
};
void inSqlite(database, (tx) => once(tx, operationId, effect), { onStep: killAt(step) }).then((result) => {
  process.stdout.write(JSON.stringify(result));
});
