#!/usr/bin/env bash
# Where the server's processor time goes, by perf: a list of the costliest functions, and a flame graph as SVG.
#
#   Benchmarks/flame.sh [save | batch | read | fetch | fanout | handshake]…      default: save batch fetch
#
# Loads and measures with the harness of Benchmarks/peers (root; it installs what is missing, perf included). Writes
# $PEERBENCH_WORK/flame/NAME.svg (/tmp/peerbench/flame). SECS, KEYS, SUBS, LOOPS, OPTS and BRUME are those of the harness. Functions of
# libraries without symbols count under the library's name.
set -euo pipefail
HERE=$(cd "$(dirname "$0")/peers" && pwd)
export SECS=${SECS:-5} KEYS=${KEYS:-100000}
"$HERE/setup.sh"
command -v perf >/dev/null || { apt-get update -qq >/dev/null && apt-get install -y -qq --no-install-recommends linux-perf >/dev/null; }
# The harness's functions are made for neither.
set +eu
. "$HERE/peers.sh"
folder=$W/flame
mkdir -p "$folder"
[ $# -gt 0 ] || set -- save batch fetch

P=brume PID=
trap '[ -n "$PID" ] && stop_peer' EXIT
for name in "$@"; do
    case $name in
    save) load=(write brume -c 64 -k "$KEYS" -t "$SECS" -r 1) ;;
    batch) load=(write brume -c 4 -b 400 -k "$KEYS" -t "$SECS" -r 1) ;;
    read) load=(read brume -c 64 -k "$KEYS" -t "$SECS" -r 1) ;;
    fetch) load=(fetch brume -k "$KEYS" -l 400 -r 20) ;;
    fanout) load=(fanout brume -c "${SUBS:-1000}" -t "$SECS" -r 1 -w 8) ;;
    handshake) load=(hs brume -c 16 -t "$SECS" -r 1) ;;
    *) echo "flame: there is no load $name; use save, batch, read, fetch, fanout or handshake" >&2; exit 2 ;;
    esac
    fresh brume
    start_peer brume ${OPTS:-}
    lg load brume -c 4 -b 400 -n "$KEYS" -k "$KEYS" >/dev/null
    brume_snapshot # what the load left to do is not what is looked at
    # Processor time by the clock: virtual machines have no counters. An odd rate, so that nothing periodic is in step with it.
    perf record -o "$folder/$name.data" -F 1999 -e cpu-clock -g -p "$PID" >/dev/null 2>"$folder/perf.log" &
    recorder=$!
    lg "${load[@]}" >"$folder/$name.json"
    kill -INT $recorder
    wait $recorder || true
    stop_peer
    perf script -i "$folder/$name.data" -F comm,ip,sym,dso 2>/dev/null | swift demangle --simplified |
        "$HERE/../flame.py" "$name" "$folder/$name.svg"
    rm -f "$folder/$name.data"
    echo "$folder/$name.svg"
done
