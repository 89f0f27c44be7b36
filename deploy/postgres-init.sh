#!/bin/sh
# Runs once, when the data volume is empty. Temporal and the ledger share a server, not a role: neither can read the
# other's tables, and neither is a superuser.
set -eu
psql --no-psqlrc --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres \
  --set temporal_password="$TEMPORAL_DB_PASSWORD" --set ledger_password="$LEDGER_DB_PASSWORD" <<'SQL'
CREATE ROLE temporal LOGIN PASSWORD :'temporal_password';
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
CREATE ROLE holdpoint LOGIN PASSWORD :'ledger_password';
CREATE DATABASE holdpoint OWNER holdpoint;
REVOKE CONNECT ON DATABASE temporal, temporal_visibility, holdpoint FROM PUBLIC;
SQL
