#!/usr/bin/env bash
# How many instructions a loop's thread needs for an operation, by callgrind: the same from run to run, on a busy machine too, where
# times move by half. For judging a change of the code; what the kernel, the caches and other threads cost is not in it.
#
#   Benchmarks/instructions.sh [save | batch | read | fetch | fanout]…      default: save batch read
#
# Prints the instructions of one operation (of a record, a change or a delivery where there are many) and the functions that most are
# spent in or below. Uses the harness of Benchmarks/peers (root; it installs what is missing, valgrind included) and takes a minute
# each. KEYS, SECS, SUBS, BRUME and PEERBENCH_WORK are those of the harness; TOP, how many functions (30); profiles are left in
# $PEERBENCH_WORK/instructions, for callgrind_annotate and the like. An executable with symbols tells most:
# swift build -c release --product brume -Xswiftc -g
set -euo pipefail
BENCHMARKS=$(cd "$(dirname "$0")" && pwd)
HERE=$BENCHMARKS/peers
export PEERBENCH_WORK=${PEERBENCH_WORK:-/tmp/peerbench}
"$HERE/setup.sh"
command -v valgrind >/dev/null || { apt-get update -qq >/dev/null && apt-get install -y -qq --no-install-recommends valgrind binutils >/dev/null; }
folder=$PEERBENCH_WORK/instructions
mkdir -p "$folder"
[ $# -gt 0 ] || set -- save batch read

# Callgrind reads no DWARF of version 5; the names of functions are enough.
objcopy --strip-debug "${BRUME:-$BENCHMARKS/../.build/release/brume}" "$folder/brume"
cat >"$folder/wrapper" <<END
#!/bin/sh
[ "\$1" = serve ] || exec "$folder/brume" "\$@"
exec valgrind --tool=callgrind --instr-atstart=no --separate-threads=yes --callgrind-out-file="$folder/profile" "$folder/brume" "\$@"
END
chmod +x "$folder/wrapper"
export BRUME=$folder/wrapper

# The harness's functions are made for neither.
set +eu
. "$HERE/peers.sh"
KEYS=${KEYS:-20000} SECS=${SECS:-6} SUBS=${SUBS:-200} P=brume PID=
trap '[ -n "$PID" ] && stop_peer' EXIT
for name in "$@"; do
    # The load, which function's calls are counted, and how many operations each of them is.
    case $name in
    save) load=(write brume -m commit -c 64 -k "$KEYS") counted='Shard.route(_:byteCount:to:' each=1 ;;
    batch) load=(write brume -m commit -c 4 -b 400 -k "$KEYS") counted='Shard.route(_:byteCount:to:' each=400 ;;
    read) load=(read brume -c 64 -k "$KEYS") counted='Shard.route(_:byteCount:to:' each=1 ;;
    fetch) load=(fetch brume -k "$KEYS" -l 400) counted='Shard.route(_:byteCount:to:' each=400 ;;
    fanout) load=(fanout brume -c "$SUBS" -w 8) counted='NotificationHub.publish(' each=$SUBS ;;
    *) echo "instructions: there is no load $name; use save, batch, read, fetch or fanout" >&2; exit 2 ;;
    esac
    fresh brume
    rm -f "$folder"/profile*
    start_peer brume
    if [ "$name" = fetch ]; then lg load brume -c 4 -b 400 -n "$KEYS" -k "$KEYS" -L >/dev/null; else lg load brume -c 4 -b 400 -n "$KEYS" -k "$KEYS" >/dev/null; fi
    # What the load left to do, and the first calls, are not what is counted.
    (
        [ "$name" = fetch ] || sleep 1.5
        callgrind_control -i on "$PID" >/dev/null
    ) &
    [ "$name" = fetch ] && wait $!
    lg "${load[@]}" -t "$SECS" -r 1 >"$folder/$name.json"
    callgrind_control -i off "$PID" >/dev/null
    stop_peer
    # The loop's thread is the one that did most.
    profile=$(grep -l 'fn=' "$folder"/profile-* | xargs ls -S | head -1)
    mv "$profile" "$folder/$name.profile"
    echo "== $name"
    "$BENCHMARKS/instructions.py" "$folder/$name.profile" "$counted" "$each" "${TOP:-30}"
done
