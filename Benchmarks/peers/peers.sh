# Sourced by run.sh: start_PEER and stop_peer, with TLS 1.3 on loopback, one data directory each.
W=${PEERBENCH_WORK:-/tmp/peerbench}
C=$W/certs
LG="$W/bin/lg"
BRUME=${BRUME:-$(cd "$HERE/../.." && pwd)/.build/release/brume}
export PEERBENCH_NGINX=$W/nginx/www PEERBENCH_BRUME=$W/brume BRUME_STATE=$W/brume/state
declare -A PORT=([redis]=7001 [etcd]=7002 [nats]=7003 [postgres]=7004 [mosquitto]=7005 [floor]=7006 [brume]=7007
    [nginx]=7008)
ulimit -n 200000 2>/dev/null || true
PGB=/usr/lib/postgresql/15/bin
fresh() {
    rm -rf "$W/$1"
    mkdir -p "$W/$1"
}
now_ns() { "$LG" now; }
start_redis() { # $1..: more options, after the defaults
    mkdir -p "$W/redis"
    redis-server --port 0 --tls-port 7001 --bind 127.0.0.1 --tls-cert-file "$C/server.crt" --tls-key-file "$C/server.key" --tls-ca-cert-file "$C/ca.crt" --tls-auth-clients no \
        --tls-protocols TLSv1.3 --tls-session-caching yes --dir "$W/redis" --maxclients 60000 --tcp-backlog 4096 --save "" --appendonly yes --appendfsync always \
        --client-output-buffer-limit "pubsub 0 0 0" --loglevel warning --logfile "$W/redis.log" --daemonize no "$@" &
    PID=$!
    TREE=
}

start_etcd() {
    mkdir -p "$W/etcd"
    etcd --name default --data-dir "$W/etcd/d" --listen-client-urls https://127.0.0.1:7002 --advertise-client-urls https://127.0.0.1:7002 --cert-file "$C/server.crt" --key-file "$C/server.key" \
        --listen-peer-urls http://127.0.0.1:7012 --initial-advertise-peer-urls http://127.0.0.1:7012 --initial-cluster default=http://127.0.0.1:7012 --quota-backend-bytes 8589934592 --max-txn-ops 1024 --log-level error "$@" >"$W/etcd.log" 2>&1 &
    PID=$!
    TREE=
}

start_nats() {
    mkdir -p "$W/nats"
    cat >"$W/nats.conf" <<E
listen: "127.0.0.1:7003"
tls { cert_file: "$C/server.crt", key_file: "$C/server.key", timeout: 60 }
jetstream { store_dir: "$W/nats", max_memory_store: 4GB, max_file_store: 60GB }
max_connections: 60000
ping_interval: "10m"
E
    nats-server -c "$W/nats.conf" >"$W/nats.log" 2>&1 &
    PID=$!
    TREE=
}

start_postgres() { # $1..: more -c options
    if [ ! -d "$W/postgres/d" ]; then
        mkdir -p "$W/postgres"
        chmod a+rx "$W"
        chmod a+x "$W/.."
        chown postgres "$W/postgres"
        runuser -u postgres -- $PGB/initdb -D "$W/postgres/d" -A trust --no-sync >/dev/null
        install -o postgres -m 600 "$C/server.key" "$W/postgres/d/server.key"
        install -o postgres "$C/server.crt" "$W/postgres/d/server.crt"
        printf 'local all all trust\nhostssl all all 127.0.0.1/32 trust\n' >"$W/postgres/d/pg_hba.conf"
        NEWPG=1
    fi
    runuser -u postgres -- $PGB/postgres -D "$W/postgres/d" -p 7004 -c listen_addresses=127.0.0.1 -c unix_socket_directories="$W/postgres" -c ssl=on -c ssl_min_protocol_version=TLSv1.3 \
        -c max_connections=6000 -c shared_buffers=2GB -c max_wal_size=16GB -c synchronous_commit=on -c fsync=on -c autovacuum_naptime=1min "$@" >"$W/postgres.log" 2>&1 &
    for i in $(seq 200); do
        [ -s "$W/postgres/d/postmaster.pid" ] && grep -q ready "$W/postgres/d/postmaster.pid" && break
        sleep 0.1
    done
    PID=$(head -1 "$W/postgres/d/postmaster.pid")
    TREE=-T
    if [ "${NEWPG:-}" = 1 ]; then
        NEWPG=
        psqlb postgres -c 'create role bench login superuser' -c 'create database bench owner bench' >/dev/null
        psqlb bench -c 'create table kv(k text primary key, v bytea) with (fillfactor=80)' -c 'alter table kv alter v set storage external' -c 'create table changes(seq bigserial primary key, k text, v bytea)' -c 'alter table changes alter v set storage external' >/dev/null
    fi
}

psqlb() {
    local db=$1
    shift
    runuser -u postgres -- psql -q -h "$W/postgres" -p 7004 -d "$db" "$@"
}

start_mosquitto() {
    printf 'listener 7005 127.0.0.1\ncertfile %s\nkeyfile %s\ntls_version tlsv1.3\nallow_anonymous true\nmax_connections -1\nset_tcp_nodelay true\nlog_type error\nuser root\nmax_queued_messages 100000\n' "$C/server.crt" "$C/server.key" >"$W/mosquitto.conf"
    mosquitto -c "$W/mosquitto.conf" >"$W/mosquitto.log" 2>&1 &
    PID=$!
    TREE=
}

# One worker, and the files of one folder.
start_nginx() { # $1..: more directives of the http block
    mkdir -p "$W/nginx/www/a" "$W/nginx/part"
    cat >"$W/nginx.conf" <<E
daemon off;
user root;
worker_processes 1;
pid $W/nginx/pid;
error_log $W/nginx.log error;
events { worker_connections 4096; }
http {
    access_log off;
    keepalive_requests 1000000;
    client_max_body_size 0;
    client_body_temp_path $W/nginx/part;
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
    ${*:-}
    server {
        listen 127.0.0.1:7008 ssl backlog=4096;
        ssl_certificate $C/server.crt;
        ssl_certificate_key $C/server.key;
        ssl_protocols TLSv1.3;
        root $W/nginx/www;
        location / { dav_methods PUT; }
    }
}
E
    nginx -c "$W/nginx.conf" 2>>"$W/nginx.log" &
    PID=$!
    TREE=-T
}

start_floor() { # floor.c, the least a server must do
    "$W/bin/floor" 7006 "$W/floor" "$C" &
    PID=$!
    TREE=
}

# One event loop (LOOPS), so that it has what Redis has; USERS accounts; BRUME_OPTS, more options of brume serve. Journal, syncs and
# snapshots as they are by default.
start_brume() { # $1..: more options of brume serve
    mkdir -p "$W/brume"
    if [ ! -s "$W/brume/accounts" ]; then
        for i in $(seq "${USERS:-10}"); do "$BRUME" account add "user$i" --data "$W/brume/data" --json; done |
            sed -n 's/.*"token": *"\([^"]*\)".*/\1/p' >"$W/brume/accounts"
    fi
    "$BRUME" serve --data "$W/brume/data" --listen 127.0.0.1:7007 --certificate "$C/server.crt" --key "$C/server.key" --ca "$C/ca.crt" \
        --loops "${LOOPS:-1}" --log-level warning ${BRUME_OPTS:-} "$@" >"$W/brume.log" 2>&1 &
    PID=$!
    TREE=
}

wait_port() {
    for i in $(seq 600); do
        (exec 3<>/dev/tcp/127.0.0.1/${PORT[$1]}) 2>/dev/null && return 0
        sleep 0.1
    done
    echo "$1 did not start" >&2
    return 1
}

start_peer() {
    local p=$1
    shift
    start_$p "$@"
    wait_port $p
    [ "$p" = etcd ] && sleep 1
    [ "$p" = nats ] && { [ -d "$W/nats/jetstream/\$G/streams/KV_r" ] || lg init nats; }
    [ "$p" = brume ] && [ ! -s "$W/brume/since" ] && lg init brume
    return 0
}

stop_peer() {
    if [ "$TREE" = -T ]; then kill -INT "$PID" 2>/dev/null; else kill "$PID" 2>/dev/null; fi
    for i in $(seq 300); do
        kill -0 "$PID" 2>/dev/null || break
        sleep 0.1
    done
    kill -9 "$PID" 2>/dev/null
    wait 2>/dev/null
    PID=
}

lg() {
    local m=$1 p=$2
    shift 2
    "$LG" $m $p -p ${PORT[$p]} ${PID:+-P $PID} $TREE "$@"
}

brume_snapshot() { "$BRUME" snapshot --data "$W/brume/data" >/dev/null; }
