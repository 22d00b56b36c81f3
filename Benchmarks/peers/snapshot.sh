# sourced by run.sh: 1,000,000 records stored; 16 connections write 1 KiB durably for 10 s; a snapshot starts after 2 s. Reports the write latencies without and with it, and the snapshot's own time.
N=${N:-1000000}
fresh $P
start_peer $P
lg load $P -c 2 -b 400 -n $N -k $N -m load >/dev/null
redis_cli() { redis-cli --tls --cacert "$C/ca.crt" -p 7001 "$@"; }
snap() { case $P in
    redis)
        redis_cli BGSAVE >/dev/null
        sleep 0.3
        while redis_cli INFO persistence | grep -q 'rdb_bgsave_in_progress:1'; do sleep 0.1; done
        SZ=$(stat -c %s $W/redis/dump.rdb)
        ;;
    etcd)
        rm -f $W/snap.db
        ETCDCTL_API=3 etcdctl --endpoints=https://127.0.0.1:7002 --cacert="$C/ca.crt" snapshot save $W/snap.db >/dev/null
        SZ=$(stat -c %s $W/snap.db)
        ;;
    brume)
        brume_snapshot
        SZ=$(du -sb $W/brume/data/snapshots | cut -f1)
        ;;
    postgres)
        psqlb bench -c CHECKPOINT
        SZ=0
        ;;
esac }
# Brume writes snapshots by itself when the journal has grown: after this one it has no reason to while the writers are measured.
[ $P = brume ] && brume_snapshot
lg write $P -c 16 -k $N -t 8 -r 1 -m snapshot -x without
lg write $P -c 16 -k $N -t 8 -r 1 -m snapshot -x with &
L=$!
sleep 2
t0=$(now_ns)
snap
t1=$(now_ns)
echo "{\"measure\":\"snapshot\",\"peer\":\"$P\",\"tag\":\"time\",\"secs\":$(((t1 - t0) / 1000000))e-3,\"bytes\":${SZ:-0}}"
wait $L
