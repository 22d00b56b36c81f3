# sourced by run.sh: load 1,000,000 records of 1 KiB, stop, start again, time until one TLS read of the last record is answered
N=${N:-1000000}
fresh $P
wait_line() { lg wait $P -k $N -m cold -x "$1"; }
again() { # $1 tag, rest: server options; drops the page cache first when it can
    local tag=$1
    shift
    sync
    [ "${DROP:-0}" = 1 ] && echo 3 >/proc/sys/vm/drop_caches
    export START_NS=$(now_ns)
    start_$P "$@"
    wait_line "$tag"
    unset START_NS
}
case $P in
    redis)
        start_peer redis --appendfsync no --auto-aof-rewrite-percentage 0
        lg load redis -c 4 -b 100 -n $N -k $N -m load
        redis_cli() { redis-cli --tls --cacert "$C/ca.crt" -p 7001 "$@"; }
        t0=$(now_ns)
        redis_cli SAVE >/dev/null
        t1=$(now_ns)
        echo "{\"measure\":\"cold\",\"peer\":\"redis\",\"tag\":\"rdb-save-foreground\",\"secs\":$(((t1 - t0) / 1000000))e-3,\"bytes\":$(stat -c %s $W/redis/dump.rdb)}"
        stop_peer
        again aof-incr-1GB --auto-aof-rewrite-percentage 0
        redis_cli BGREWRITEAOF >/dev/null
        while redis_cli INFO persistence | grep -q 'aof_rewrite_in_progress:1'; do sleep 0.2; done
        stop_peer
        again aof-rdb-base
        stop_peer
        mv $W/redis/appendonlydir $W/redis/aof.off
        again rdb --appendonly no
        stop_peer
        ;;
    etcd)
        start_peer etcd
        lg load etcd -c 2 -b 400 -n $N -k $N -m load
        stop_peer
        again etcd
        stop_peer
        ;;
    nats)
        start_peer nats
        lg load nats -c 4 -b 100 -n $N -k $N -m load
        stop_peer
        again nats
        stop_peer
        ;;
    postgres)
        start_peer postgres
        lg load postgres -c 2 -b 400 -n $N -k $N -m load
        stop_peer
        again postgres
        stop_peer
        ;;
    brume)
        start_peer brume
        lg load brume -c 4 -b 400 -n $N -k $N -m load
        stop_peer
        again snapshot+journal
        brume_snapshot
        stop_peer
        again snapshot
        stop_peer
        ;;
esac
