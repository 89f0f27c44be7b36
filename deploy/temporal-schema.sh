#!/bin/sh
# Brings both of Temporal's databases to the schema of this image's version. Safe to run at every start.
set -eu
: "${SQL_HOST:?}" "${SQL_USER:?}" "${SQL_PASSWORD:?}" "${SQL_PLUGIN:?}"
schema_dir=${TEMPORAL_SCHEMA_DIR:-/etc/temporal/schema}/postgresql/v12

apply() {
  SQL_DATABASE=$1 temporal-sql-tool setup-schema --version 0.0
  SQL_DATABASE=$1 temporal-sql-tool update-schema --schema-dir "$schema_dir/$2/versioned"
}

apply temporal temporal
apply temporal_visibility visibility
