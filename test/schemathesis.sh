#!/usr/bin/env bash
# Runs schemathesis over the console's OpenAPI document, against a real stack in a folder of its own: no answer may be a
# server error or differ from what the document says. Once with made-up ids, once with those of real things. Needs: npm ci,
# curl, schemathesis on PATH (pip install schemathesis). The argument: examples for each operation, 50 by default.
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
url=$(sed -n 's/^ *console *\(http[^ ]*\)$/\1/p' "$work/dev.log")
token_of() { holdpoint console token "$1" --hours 1 2>/dev/null; }
token=$(token_of dana)

# One of each thing that a path can name, so that not every answer is a 404: dana asks, reviews and operates.
holdpoint policy show --text |
  sed -e 's/^  operators: .*/&\n  secondReviewShare: 1/' -e 's/^rules:.*/&\
  - { id: break-glass, server: orders-db, scope: { tools: [apply_migration] }, approvers: { groups: [dba-leads] }, emergency: { reviewWithin: 8h } }/' >policy.yaml
holdpoint policy apply policy.yaml --no-probe >/dev/null
# Starts a turn, and answers its request: operation, revision and digest.
ask() {
  sed "s/DROP COLUMN legacy_note/ADD COLUMN $1 integer/" "$OLDPWD/examples/production-migration/turn.json" >turn.json
  holdpoint turn start turn.json >/dev/null
  for _ in $(seq 60); do
    curl -sS -H "Authorization: Bearer $token" "$url/api/v1/requests" | node -e '
      const [item] = JSON.parse(require("fs").readFileSync(0, "utf8")).items;
      if (item) console.log(item.request.operationId, item.request.revision, item.request.bindingDigest);
      else process.exitCode = 1;' && return
    sleep 0.5
  done
  return 1
}
allow() { # PERSON OPERATION REVISION DIGEST MORE
  curl --fail-with-body -sS -o /dev/null -H "Authorization: Bearer $(token_of "$1")" -H 'Content-Type: application/json' \
    "$url/api/v1/requests/$2/decisions" -d "{\"answer\":\"allow\",\"revision\":$3,\"digest\":\"$4\"$5}"
}
read -r decided revision digest <<<"$(ask one)"
allow eli "$decided" "$revision" "$digest" ''
read -r emergency revision digest <<<"$(ask two)"
allow lee "$emergency" "$revision" "$digest" ',"reason":"the site is down","emergency":{"rule":"break-glass","ticket":"INC-7"}'
read -r waiting revision digest <<<"$(ask three)"

run() { # COUNT OPTIONS
  # Events are a stream without an end. That every valid value is taken is no promise: a cursor is one that was given out.
  schemathesis "${@:2}" run "$url/api/v1/openapi.json" --url "$url/api/v1" --header "Authorization: Bearer $token" \
    --exclude-path /events --max-examples "$1" \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance
}
known() { printf '[[operations]]\ninclude-path = "%s"\nparameters = { id = "%s" }\n\n' "$1" "$2"; }
{
  for path in '/requests/{id}' '/requests/{id}/decisions'; do known "$path" "$waiting"; done
  for path in '/operations/{id}' '/operations/{id}/settlement' '/operations/{id}/reversal' '/operations/{id}/second-review'; do
    known "$path" "$decided"
  done
  for path in '/retrospectives/{id}/review' '/grants/{id}/revocation'; do known "$path" "gr_${emergency#op_}.1"; done
} >known.toml
run "${1:-50}"
run "${1:-50}" --config-file known.toml
