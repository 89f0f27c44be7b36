#!/usr/bin/env bash
# Runs by hand what docker-compose.yml runs in containers, where there is no container engine: the same scripts, and the
# same environment, read from that file, with host names and ports replaced. Exits 0 when the worker, the
# gateway and the console were ready, and ended in order.
#
# PostgreSQL is Debian's. Temporal is the real server where `temporal-server` and `temporal-sql-tool` are on PATH (and
# TEMPORAL_SCHEMA_DIR names the schema folder of the same version); otherwise `temporal server start-dev` takes the
# server's and the schema job's place, which then go untested. The images themselves are not tested here.
# Needs: npm ci, Debian's postgresql.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
chmod 755 "$work"
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill -s TERM "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap cleanup EXIT

step() { printf '== %s\n' "$*"; }
fail() {
  printf '%s\n' "$*" >&2
  for log in "$work"/*.log; do printf -- '--- %s\n' "$log" >&2; tail -n 5 "$log" | cut -c 1-300 >&2; done
  exit 1
}
until_true() { # SECONDS WHAT COMMAND...
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || fail "gave up waiting for $what"
    sleep 0.2
  done
}
in_background() { # LOG COMMAND... which must end in exec, so that the pid is the program's and not a shell's
  ("${@:2}") >"$work/$1.log" 2>&1 &
  pids+=($!)
}
run_as_postgres() { # PostgreSQL refuses to run as root.
  if [ "$(id -u)" = 0 ]; then exec setpriv --reuid postgres --regid postgres --clear-groups -- "$@"; else exec "$@"; fi
}

# What an operator puts into .env.
export POSTGRES_PASSWORD TEMPORAL_DB_PASSWORD LEDGER_DB_PASSWORD HOLDPOINT_PAYLOAD_KEY
POSTGRES_PASSWORD=$(openssl rand -hex 24)
TEMPORAL_DB_PASSWORD=$(openssl rand -hex 24)
LEDGER_DB_PASSWORD=$(openssl rand -hex 24)
HOLDPOINT_PAYLOAD_KEY=$(openssl rand -base64 32)
export TEMPORAL_RETENTION=30d HOLDPOINT_WEBHOOKS='' HOLDPOINT_PERMIT_KEY_FILE="$work/permit-key"
export HOLDPOINT_GATEWAY_TOKENS="$work/tokens.json"
export HOLDPOINT_CONSOLE_KEY_FILE="$work/console-key" HOLDPOINT_CONSOLE_SIGNING_KEY_FILE="$work/console-signing-key"

# The environment that docker-compose.yml gives a service, with this host in place of the network's names. The server's
# inner ports (6933-6939, 7234-7246) stay: its membership table has no room for ports over 32767.
export ports
ports=$(node -e '
  const servers = Array.from({ length: 5 }, () => require("node:net").createServer().listen(0, "127.0.0.1"));
  setTimeout(() => {
    console.log(servers.map((server) => server.address().port).join(" "));
    servers.forEach((server) => server.close());
  }, 100);')
read -r db_port grpc_port health_port gateway_port console_port <<<"$ports"
export HOLDPOINT_CONSOLE_URL="http://127.0.0.1:$console_port"
service_env() { # SERVICE
  node - "$1" <<'JS'
const { readFileSync } = require('node:fs');
const { parse } = require('yaml');
const [db, grpc, health, gateway, consolePort] = process.env.ports.split(' ');
const here = {
  SQL_HOST: '127.0.0.1',
  SQL_PORT: db,
  POSTGRES_SEEDS: '127.0.0.1',
  DB_PORT: db,
  BIND_ON_IP: '127.0.0.1',
  TEMPORAL_ADDRESS: `127.0.0.1:${grpc}`,
  DYNAMIC_CONFIG_FILE_PATH: `${process.cwd()}/deploy/temporal-dynamic-config.yaml`,
  HOLDPOINT_PERMIT_KEY_FILE: process.env.HOLDPOINT_PERMIT_KEY_FILE,
  HOLDPOINT_HEALTH_HOST: '127.0.0.1',
  HOLDPOINT_HEALTH_PORT: health,
  HOLDPOINT_GATEWAY_HOST: '127.0.0.1',
  HOLDPOINT_GATEWAY_PORT: gateway,
  HOLDPOINT_GATEWAY_PUBLIC_URL: `http://127.0.0.1:${gateway}`,
  HOLDPOINT_GATEWAY_TOKENS: process.env.HOLDPOINT_GATEWAY_TOKENS,
  HOLDPOINT_CONSOLE_HOST: '127.0.0.1',
  HOLDPOINT_CONSOLE_PORT: consolePort,
  HOLDPOINT_CONSOLE_KEY_FILE: process.env.HOLDPOINT_CONSOLE_KEY_FILE,
  HOLDPOINT_CONSOLE_SIGNING_KEY_FILE: process.env.HOLDPOINT_CONSOLE_SIGNING_KEY_FILE,
};
const service = process.argv[2];
const { environment } = parse(readFileSync('docker-compose.yml', 'utf8')).services[service];
const variables = Object.entries(environment).map(([name, value]) => {
  const given = value.replace(/\$\{(\w+)[^}]*\}/g, (_, variable) => process.env[variable] ?? '');
  return [name, here[name] ?? given.replace('@postgres:5432/', `@127.0.0.1:${db}/`)];
});
if (service === 'temporal') variables.push(['FRONTEND_GRPC_PORT', grpc]);
process.stdout.write(variables.map(([name, value]) => `${name}=${value}\0`).join(''));
JS
}
run_in_service() { # SERVICE COMMAND... with nothing but that service's environment
  local variables
  mapfile -d '' -t variables < <(service_env "$1")
  [ "${#variables[@]}" -gt 0 ] || exit 1
  exec env -i "PATH=$PATH" "HOME=$work" "TEMPORAL_SCHEMA_DIR=${TEMPORAL_SCHEMA_DIR:-}" "${variables[@]}" "${@:2}"
}
job() { # NAME: the script of a job in docker-compose.yml, twice, because it runs again at every start
  (run_in_service "$1" sh "deploy/$1.sh") >"$work/$1.log" 2>&1 || fail "$1 failed"
  (run_in_service "$1" sh "deploy/$1.sh") >"$work/$1-again.log" 2>&1 || fail "$1 failed when run again"
}

step 'postgres'
bin=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] || fail 'no PostgreSQL in /usr/lib/postgresql: apt-get install postgresql'
mkdir "$work/pg"
if [ "$(id -u)" = 0 ]; then chown postgres "$work/pg"; fi
printf '%s' "$POSTGRES_PASSWORD" >"$work/pg-password"
chmod 644 "$work/pg-password"
(run_as_postgres "$bin/initdb" -D "$work/pg/data" -U postgres -A scram-sha-256 --pwfile "$work/pg-password") >"$work/initdb.log"
in_background postgres run_as_postgres "$bin/postgres" -D "$work/pg/data" -h 127.0.0.1 -p "$db_port" \
  -c unix_socket_directories=
until_true 30 PostgreSQL "$bin/pg_isready" --host 127.0.0.1 --port "$db_port"
PGHOST=127.0.0.1 PGPORT=$db_port PGPASSWORD=$POSTGRES_PASSWORD POSTGRES_USER=postgres \
  sh deploy/postgres-init.sh >"$work/postgres-init.log"

step 'temporal'
temporal=$(node -r ./test/support/ts-hook.cjs -e '
  const { findTemporalBinary } = require("./worker/temporal-binary");
  findTemporalBinary({ stateDir: "node_modules/.cache/holdpoint", env: process.env, onProgress: console.error })
    .then((found) => (found.ok ? console.log(found.path) : (console.error(found.detail), process.exit(1))));')
mkdir "$work/bin"
ln -s "$(realpath "$temporal")" "$work/bin/temporal"
export PATH="$work/bin:$PATH"
if command -v temporal-server >/dev/null && command -v temporal-sql-tool >/dev/null; then
  job temporal-schema
  in_background temporal run_in_service temporal temporal-server start
else
  echo 'no temporal-server and temporal-sql-tool on PATH: using temporal server start-dev'
  in_background temporal exec temporal server start-dev --headless --ip 127.0.0.1 --port "$grpc_port" --log-level error
fi

step 'temporal-setup'
job temporal-setup

step 'worker'
npm run build --silent
node dist/cli/main.js key new "$HOLDPOINT_PERMIT_KEY_FILE" >"$work/key.log" 2>&1 || fail 'no permit key can be made'
(run_in_service worker node dist/cli/main.js policy apply examples/production-migration/policy.yaml) \
  >"$work/policy.log" 2>&1 || fail 'the policy cannot be applied'
in_background worker run_in_service worker node dist/cli/main.js worker
worker=${pids[-1]}
ready() { node -e 'fetch(process.argv[1]).then((answer) => process.exit(answer.ok ? 0 : 1))' "http://127.0.0.1:$1/healthz"; }
until_true 60 'the worker' ready "$health_port"

step 'gateway'
token=$(run_in_service gateway node dist/cli/main.js gateway token new "$HOLDPOINT_GATEWAY_TOKENS" \
  --subject user:amira --agent support-bot 2>"$work/token.log") || fail 'no token can be made'
in_background gateway run_in_service gateway node dist/cli/main.js gateway
gateway=${pids[-1]}
until_true 60 'the gateway' ready "$gateway_port"
# 404: it knows the token, and no such server.
refused() { node -e 'fetch(process.argv[1], { method: "POST", headers: { authorization: `Bearer ${process.argv[2]}` } }).then(({ status }) => console.log(status))' \
  "http://127.0.0.1:$gateway_port/mcp/none" "$1"; }
[ "$(refused "$token")" = 404 ] && [ "$(refused hp_wrong)" = 401 ] || fail 'the gateway does not tell tokens apart'
step 'console'
node dist/cli/main.js console key "$HOLDPOINT_CONSOLE_KEY_FILE" >>"$work/key.log" 2>&1 || fail 'no console key can be made'
node dist/cli/main.js key new "$HOLDPOINT_CONSOLE_SIGNING_KEY_FILE" >>"$work/key.log" 2>&1 || fail 'no signing key can be made'
in_background console run_in_service console node dist/cli/main.js console
console=${pids[-1]}
until_true 60 'the console' ready "$console_port"
token=$(run_in_service console node dist/cli/main.js console token dana 2>"$work/token.log") || fail 'no API token can be made'
requests() { node -e 'fetch(process.argv[1], { headers: { authorization: `Bearer ${process.argv[2]}` } }).then(({ status }) => console.log(status))' \
  "http://127.0.0.1:$console_port/api/v1/requests" "$1"; }
[ "$(requests "$token")" = 200 ] && [ "$(requests wrong)" = 401 ] || fail 'the console does not tell tokens apart'
for part in console gateway worker; do
  kill -s TERM "${!part}"
  wait "${!part}" || fail "the $part did not stop cleanly"
  echo "the $part was ready, and stopped cleanly"
done
