#!/usr/bin/env bash
# Runs schemathesis over the console's OpenAPI document, against a real stack in a folder of its own: no answer may be a
# server error or differ from what the document says. Needs: npm ci, schemathesis on PATH (pip install schemathesis).
set -euo pipefail
cd "$(dirname "$0")/.."
command -v schemathesis >/dev/null || {
  echo 'schemathesis is not on PATH: pip install schemathesis' >&2
  exit 1
}
npm run build --silent
work=$(mktemp -d)
holdpoint() { node "$OLDPWD/dist/cli/main.js" "$@"; }
cd "$work"
node "$OLDPWD/dist/cli/main.js" dev >"$work/dev.log" 2>&1 &
dev=$!
cleanup() {
  kill -s TERM "$dev" 2>/dev/null || true
  wait "$dev" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
for _ in $(seq 120); do
  grep -q 'Any MCP client' "$work/dev.log" && break
  kill -0 "$dev" 2>/dev/null || { cat "$work/dev.log" >&2; exit 1; }
  sleep 0.5
done
holdpoint turn start "$OLDPWD/examples/production-migration/turn.json" >/dev/null
url=$(sed -n 's/^ *console *\(http[^ ]*\)$/\1/p' "$work/dev.log")
token=$(holdpoint console token dana --hours 1 2>/dev/null)
# Events are a stream without an end. That every valid value is taken is no promise: a cursor is one that was given out.
schemathesis run "$url/api/v1/openapi.json" --url "$url/api/v1" --header "Authorization: Bearer $token" \
  --exclude-path /events --max-examples "${1:-50}" \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance
