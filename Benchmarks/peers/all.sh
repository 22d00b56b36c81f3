#!/usr/bin/env bash
# all.sh [MEASURE...]: every peer's measures, ROUNDS (3) times in turn, into $PEERBENCH_WORK/results/MEASURE.jsonl, and the table of
# goals at the end. Without names: all that the goals need. PEERS="redis brume" chooses; KEEP=1 adds to the results that are there.
# Measures with a million records run once, unless ROUNDS_LARGE says otherwise.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=${PEERBENCH_WORK:-/tmp/peerbench}
"$here/setup.sh" || exit 1
mkdir -p "$work/results"
[ $# -gt 0 ] || set -- commit read fetch fanout idle hs loops cold snapshot
export REPS=${REPS:-1} SUBS=${SUBS:-1000 5000} IDLE=${IDLE:-10000}

has() { # has MEASURE PEER: whether there is such a figure
    case $1:$2 in
    assets:nginx | assets:floor) true ;;
    *:nginx) false ;;
    *:brume | write:* | commit:* | read:* | fetch:*) [ "$2" != mosquitto ] ;;
    fanout:* | hs:*) true ;;
    idle:postgres) false ;; # a process each, 1.3 MB: 10,000 do not fit
    idle:*) true ;;
    cold:redis | cold:etcd | cold:nats | cold:postgres | snapshot:redis | snapshot:etcd | snapshot:postgres) true ;;
    *) false ;;
    esac
}

[ "${KEEP:-0}" = 1 ] || for measure in "$@"; do rm -f "$work/results/$measure.jsonl"; done
for measure in "$@"; do
    case $measure in cold | snapshot) rounds=${ROUNDS_LARGE:-1} ;; *) rounds=${ROUNDS:-3} ;; esac
    for round in $(seq "$rounds"); do
        for peer in ${PEERS:-redis postgres etcd nats mosquitto nginx floor brume}; do
            has "$measure" "$peer" || continue
            echo "$(date +%T) $measure $peer, round $round of $rounds, load $(cut -d' ' -f1 /proc/loadavg)" >&2
            timeout "${LIMIT:-580}" "$here/run.sh" "$measure" "$peer" 2>>"$work/results/errors.log" | tee -a "$work/results/$measure.jsonl" ||
                echo "$measure $peer failed; see $work/results/errors.log" >&2
        done
    done
done
"$here/table.py" goals
