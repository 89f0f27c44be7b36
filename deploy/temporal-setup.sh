#!/bin/sh
# Creates the namespace and the search attributes that turns are found by. Safe to run at every start.
set -eu
: "${TEMPORAL_ADDRESS:?}" "${TEMPORAL_NAMESPACE:?}" "${TEMPORAL_RETENTION:?}"

tries=60
until temporal operator cluster health >/dev/null 2>&1; do
  tries=$((tries - 1))
  [ "$tries" -gt 0 ] || { echo "no answer from Temporal at $TEMPORAL_ADDRESS" >&2; exit 1; }
  sleep 1
done

# After the retention Temporal forgets a finished turn; the ledger does not, and is the record.
if temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; then
  temporal operator namespace update --namespace "$TEMPORAL_NAMESPACE" --retention "$TEMPORAL_RETENTION"
else
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$TEMPORAL_RETENTION"
fi

# A new namespace is known to every part of the server only after its caches were refreshed.
tries=60
until temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" \
  --name HoldpointState --type Keyword \
  --name HoldpointServer --type KeywordList \
  --name HoldpointTool --type KeywordList \
  --name HoldpointRequester --type Keyword \
  --name HoldpointApprovers --type KeywordList; do
  tries=$((tries - 1))
  [ "$tries" -gt 0 ] || { echo "search attributes cannot be created in $TEMPORAL_NAMESPACE" >&2; exit 1; }
  sleep 1
done
echo "namespace $TEMPORAL_NAMESPACE is ready"
