#!/usr/bin/env bash
# Time from start to serving against the size of the journal that a kill -9 left.
#
#   Benchmarks/recovery.sh [SECONDS_OF_LOAD…]        default: 1 3 6
set -euo pipefail
cd "$(dirname "$0")/.."
brume=$PWD/.build/release/brume
[ -x "$brume" ] || { echo "recovery: build first: make release" >&2; exit 1; }
[ $# -gt 0 ] || set -- 1 3 6
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
export BRUME_STATE=$work/state
(cd "$work" && "$brume" certs >/dev/null)

serve() { # serve FOLDER: starts and waits until it serves; sets milliseconds, server and log
    local began=${EPOCHREALTIME/./}
    log=$(mktemp -p "$work")
    "$brume" serve --data "$1" --listen 127.0.0.1:0 --certificate "$work/certs/server.pem" --key "$work/certs/server.key" \
        --ca "$work/certs/ca.pem" 2>"$log" & server=$!
    until grep -q ' serving' "$log"; do
        kill -0 "$server" 2>/dev/null || { cat "$log" >&2; exit 1; }
        read -rt 0.002 <> <(:) || true
    done
    milliseconds=$(((${EPOCHREALTIME/./} - began) / 1000))
}

for seconds in "$@"; do
    folder=$work/data-$seconds
    token=$("$brume" account add a --data "$folder" --json | /usr/bin/python3 -c 'import json,sys; print(json.load(sys.stdin)["token"])')
    serve "$folder"
    address=$(/usr/bin/python3 -c "import json; print(json.load(open('$folder/server.json'))['server'])")
    BRUME_TOKEN=$token "$brume" load --server "$address" --ca "$work/certs/ca.pem" --connections 4 --batch 100 \
        --seconds "$seconds" --mix save=100 >/dev/null
    kill -9 "$server"
    wait "$server" 2>/dev/null || true
    holds=$("$brume" verify "$folder" | grep -E 'journal|holds' | tr -s ' ' | tr '\n' ' ')
    bytes=$(du -sm "$folder/journal" | cut -f1)
    serve "$folder"
    echo "journal folder $bytes MB ($holds): serving after $milliseconds ms; $(grep -o 'recovered=.*' "$log")"
    kill -9 "$server"
    wait "$server" 2>/dev/null || true
done
