#!/usr/bin/env bash
# The figures of a release build on this machine, one command each. Run it when nothing else runs.
#
#   Benchmarks/figures.sh [SECONDS_PER_LOAD]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-8}
brume=$PWD/.build/release/brume
bench=$PWD/.build/release/brume-bench
[ -x "$brume" ] && [ -x "$bench" ] || {
    echo "figures: build first: make release && swift build -c release --product brume-bench" >&2
    exit 1
}
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT
export BRUME_STATE=$work/state

echo "machine: $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg), $(uname -r)"

echo; echo "== start of brume dev to ready (5 times)"
for _ in 1 2 3 4 5; do
    "$brume" dev --ready-file "$work/once.json" >"$work/once.log" & pid=$!
    until [ -s "$work/once.json" ] && grep -q 'ready in' "$work/once.log"; do read -rt 0.01 <> <(:) || true; done
    grep -o 'ready in [0-9]* ms' "$work/once.log"
    kill "$pid"; wait "$pid" || true
    rm -f "$work/once.json"
done

"$brume" dev --data "$work/data" --ready-file "$work/ready.json" --loops "$(nproc)" >"$work/dev.log" &
until [ -s "$work/ready.json" ]; do read -rt 0.01 <> <(:) || true; done
value() { /usr/bin/python3 -c "import json,sys; r=json.load(open('$work/ready.json')); print($1)"; }
export BRUME_SERVER BRUME_CA BRUME_TOKEN
BRUME_SERVER=$(value "r['server']") BRUME_CA=$(value "r['ca']") BRUME_TOKEN=$(value "r['accounts']['a']['token']")
for connections in 1 16 64; do
    echo; echo "== durable saves of 1 KiB, $connections connections"
    "$brume" load --connections "$connections" --seconds "$seconds" --mix save=100 --data "$work/data"
done
echo; echo "== durable saves of 1 KiB in batches of 400, 4 connections"
"$brume" load --connections 4 --batch 400 --seconds "$seconds" --mix save=100 --data "$work/data"
echo; echo "== mixed, 16 connections"
"$brume" load --connections 16 --seconds "$seconds" --data "$work/data"
unset BRUME_SERVER BRUME_CA BRUME_TOKEN

echo; echo "== push latency and the whole path (brume demo)"
"$brume" demo
echo; echo "== memory of idle subscribed connections"
Benchmarks/idle_memory.py 1000 "$brume"
echo; echo "== what encryption costs a device"
"$bench" encryption
echo; echo "== a record with 100,000 below it is shared in the midst of a tree"
"$bench" middle 100000
