#!/usr/bin/env bash
# run.sh MEASURE PEER: one line of JSON per result. MEASURE: write commit read fanout fetch idle hs cold snapshot loops
# assets. PEER: redis etcd nats postgres floor brume, mosquitto for fanout, idle and hs, and nginx for assets; README.md
# says which measure has which.
HERE=$(cd "$(dirname "$0")" && pwd)
. "$HERE/peers.sh"
"$HERE/setup.sh" >&2 || exit 1
M=$1 P=$2
REPS=${REPS:-3} SECS=${SECS:-2} KEYS=${KEYS:-100000}
trap '[ -n "$PID" ] && stop_peer' EXIT
load() {
    lg load $P -c 4 -b ${2:-400} -n $1 -k $1 ${3:-} >/dev/null
    # The snapshot that the load left due: it is no cost of what is measured next. Those that the measure brings about are.
    if [ $P = brume ]; then brume_snapshot; fi
}
case $M in
    write)
        fresh $P
        start_peer $P ${OPTS:-}
        load $KEYS
        for c in ${CONNS:-1 16 64 256}; do lg write $P -c $c -k $KEYS -t $SECS -r $REPS -x "${TAG:-}"; done
        for c in ${BCONNS:-1 4}; do lg write $P -c $c -b 400 -k $KEYS -t $SECS -r $REPS -x "${TAG:-}"; done
        ;;
    commit) # a record and its entry in a change log (the key alone) in one transaction; etcd and JetStream keep the log anyway
        fresh $P
        start_peer $P ${OPTS:-}
        load $KEYS
        F=
        case $P in redis | postgres) F=-M ;; esac
        for cb in ${CB:-1,1 64,1 4,400}; do lg write $P -m commit $F -c ${cb%,*} -b ${cb#*,} -k $KEYS -t $SECS -r $REPS -x "${TAG:-record+change}"; done
        ;;
    read)
        fresh $P
        start_peer $P ${OPTS:-}
        load $KEYS
        # etcd 3.4 copies its read buffer, grown by batched loads, on each read: a restart resets it.
        if [ $P = etcd ]; then
            stop_peer
            start_peer etcd
        fi
        for c in ${CONNS:-1 64}; do lg read $P -c $c -k $KEYS -t $SECS -r $REPS -x "${TAG:-}"; done
        if [ $P = etcd ]; then for c in ${CONNS:-1 64}; do lg read $P -S -c $c -k $KEYS -t $SECS -r $REPS -x serializable; done; fi
        ;;
    fanout)
        # The publisher is one connection more than the thousand that an account may have.
        if [ $P = brume ]; then BRUME_OPTS="${BRUME_OPTS:-} --connections-per-account 1100"; fi
        fresh $P
        start_peer $P ${OPTS:-}
        for s in ${SUBS:-100 1000 5000}; do timeout 100 "$LG" fanout $P -p ${PORT[$P]} -P $PID $TREE -c $s -t $SECS -r $REPS -w ${WINDOW:-8}; done
        ;;
    fetch)
        fresh $P
        start_peer $P ${OPTS:-}
        if [ $P = etcd ]; then lg load $P -c 64 -b 1 -n $KEYS -k $KEYS -L >/dev/null; else load $KEYS 400 -L; fi
        # Brume's pages end at 400 changes, whatever is asked for.
        if [ $P = brume ]; then lg fetch $P -k $KEYS -r $REPS -l 400 -x page400; else lg fetch $P -k $KEYS -r $REPS -l 1000 -x page1000; fi
        case $P in brume) ;; redis) lg fetch $P -k $KEYS -r $REPS -l 10000 -x page10000 ;; postgres) lg fetch $P -k $KEYS -r $REPS -l 1000000000 -x one-query ;; etcd) lg fetch $P -k $KEYS -r $REPS -l 1000 -G -x range1000 ;; esac
        ;;
    idle)
        # An account may have 1,000 connections, and the one that makes its records is one of them.
        export USERS=${USERS:-20}
        for n in ${IDLE:-1000 10000}; do
            [ $P = postgres ] && [ $n -gt 5000 ] && n=5000
            fresh $P
            start_peer $P ${OPTS:-}
            timeout 200 "$LG" idle $P -p ${PORT[$P]} -P $PID $TREE -c $n -h ${HOLD:-12} -x "held ${HOLD:-12} s"
            stop_peer
        done
        ;;
    hs)
        fresh $P
        start_peer $P ${OPTS:-}
        lg hs $P -c 16 -t $SECS -r $REPS -x full
        lg hs $P -c 16 -t $SECS -r $REPS -R -x resumed
        ;;
    loops) # the same load on one loop and on two: each connection has a user, whose database belongs to one of the loops
        [ $P = brume ] || exit 0
        export USERS=${USERS:-64}
        for n in ${LOOPS_LIST:-1 2}; do
            LOOPS=$n
            fresh $P
            start_peer $P ${OPTS:-}
            # What leaves the most room for the client: questions to zones that are too small for indexes yet.
            users=$((USERS < 16 ? USERS : 16))
            lg load $P -u $users -c $users -b 200 -n $((users * 200)) -k 200 >/dev/null
            lg read $P -m loops -S -u $users -c $users -k 200 -t $SECS -r $REPS -x "queries-$n"
            for cb in ${CB:-64,1 32,400}; do lg write $P -m loops -u $USERS -c ${cb%,*} -b ${cb#*,} -k 2000 -t $SECS -r $REPS -x "loops-$n"; done
            stop_peer
        done
        ;;
    assets)
        if [ $P = brume ]; then BRUME_OPTS="${BRUME_OPTS:-} --asset-limit 2GiB --quota 100GiB"; fi
        fresh $P
        start_peer $P ${OPTS:-}
        lg assets $P -s 100000000 -r $REPS -x 100MB
        lg assets $P -s 1000000000 -r $REPS -x 1GB
        lg assets $P -c 16 -n 1000 -s 65536 -r $REPS -x 64KiB
        if [ $P = brume ]; then
            lg assets $P -M -c 16 -n 1000 -s 65536 -r $REPS -x 64KiB-named
            lg assets-beside $P -s 1000000000 -t $SECS -r $REPS
        fi
        # What is above idle in a process that has done nothing else. An account may have 64 transfers.
        for direction in down up; do
            stop_peer
            start_peer $P ${OPTS:-}
            [ $direction = up ] && M=-M || M=
            lg assets-slow $P $M -c 100 -u 4 -s 100000000 -w ${RATE:-1} -t ${HOLD:-8} -x slow-$direction
        done
        ;;
    cold) . "$HERE/cold.sh" ;;
    snapshot) . "$HERE/snapshot.sh" ;;
    *)
        echo "unknown measure $M" >&2
        exit 2
        ;;
esac
