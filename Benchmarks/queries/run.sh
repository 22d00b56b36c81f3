#!/usr/bin/env bash
# Queries over 1,000,000 records of 1 KiB: Brume beside PostgreSQL 15 (its own protocol, TLS) and SQLite with FTS5 (in process).
# Needs a release build, and the packages postgresql-15 libpq-dev libsqlite3-dev besides those of Scripts/install-packages.sh.
#
#   Benchmarks/queries/run.sh [RECORDS] [SECONDS_PER_KIND] [SYSTEM...]      results: a line of JSON each, then a table
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
records=${1:-1000000} seconds=${2:-5}
shift $(($# < 2 ? $# : 2))
systems=("$@")
[ $# -gt 0 ] || systems=(brume postgres sqlite)
brume=$root/.build/release/brume
[ -x "$brume" ] || { echo "run: build first: make release" >&2; exit 1; }

work=$(mktemp -d "${TMPDIR:-/tmp}/queries.XXXXXX")
chmod a+rx "$work"
stop() { kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"; }
trap stop EXIT
gcc -O2 -Wall -Wno-missing-braces -I"$root/Sources/CBrumeProto/include" -I"$(pg_config --includedir)" -o "$work/bench" \
    "$here"/*.c "$root"/Sources/CBrumeProto/*.c -lprotobuf-c -lssl -lcrypto -lpq -lsqlite3 -lpthread -lm
bench() { "$work/bench" "$@" | tee -a "$work/results"; }
measure() { # measure SYSTEM PID: first alone, then beside 2,000 durable saves a second
    bench "$1" ask "$records" "$seconds" 0 "$2"
    bench "$1" ask "$records" "$seconds" 2000 "$2"
}
resident() { awk '/VmRSS/ {printf "{\"system\": \"brume\", \"resident_MiB\": %d, \"when\": \"'"$2"'\"}\n", $2 / 1024}' "/proc/$1/status"; }
echo "machine: $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg)"

for system in "${systems[@]}"; do
    case $system in
    brume)
        "$brume" dev --data "$work/data" --ready-file "$work/ready.json" --loops "$(nproc)" >"$work/dev.log" 2>&1 &
        pid=$!
        until [ -s "$work/ready.json" ]; do kill -0 $pid || { cat "$work/dev.log"; exit 1; }; read -rt 0.1 <> <(:) || true; done
        ready() { /usr/bin/python3 -c "import json; r = json.load(open('$work/ready.json')); print($1)"; }
        export BRUME_SERVER BRUME_CA BRUME_TOKEN
        BRUME_SERVER=$(ready "r['server']") BRUME_CA=$(ready "r['ca']") BRUME_TOKEN=$(ready "r['accounts']['a']['token']")
        bench brume load "$records"
        resident $pid "loaded"
        measure brume $pid
        resident $pid "all indexes built"
        kill $pid; wait $pid || true
        rm -rf "$work/data"
        ;;
    postgres)
        binaries=$(pg_config --bindir)
        mkdir "$work/postgres"
        chown postgres "$work/postgres"
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$work/key" -out "$work/certificate" -days 30 -subj /CN=localhost 2>/dev/null
        runuser -u postgres -- "$binaries/initdb" -D "$work/postgres/data" -A trust --locale=C.UTF-8 >/dev/null
        install -o postgres -m 600 "$work/key" "$work/postgres/data/server.key"
        install -o postgres "$work/certificate" "$work/postgres/data/server.crt"
        printf 'local all all trust\nhostssl all all 127.0.0.1/32 trust\n' >"$work/postgres/data/pg_hba.conf"
        runuser -u postgres -- "$binaries/postgres" -D "$work/postgres/data" -p 7011 -c listen_addresses=127.0.0.1 \
            -c unix_socket_directories="$work/postgres" -c ssl=on -c ssl_min_protocol_version=TLSv1.3 -c shared_buffers=6GB \
            -c max_wal_size=16GB -c work_mem=64MB -c maintenance_work_mem=1GB -c random_page_cost=1.1 -c synchronous_commit=on -c fsync=on >"$work/postgres.log" 2>&1 &
        export BENCH_POSTGRES="host=127.0.0.1 port=7011 user=postgres dbname=postgres sslmode=require"
        until psql "$BENCH_POSTGRES" -qc 'select 1' >/dev/null 2>&1; do read -rt 0.1 <> <(:) || true; done
        pid=$(head -1 "$work/postgres/data/postmaster.pid")
        bench postgres load "$records"
        psql "$BENCH_POSTGRES" -Atc "select '{\"system\": \"postgres\", \"table_MiB\": ' || pg_table_size('note') >> 20 || ', \"index_MiB\": ' || pg_indexes_size('note') >> 20 || '}'" 2>/dev/null || true
        measure postgres "$pid"
        kill -INT "$pid"; wait || true
        ;;
    sqlite)
        export BENCH_SQLITE=$work/notes.sqlite
        bench sqlite load "$records"
        measure sqlite 0
        ;;
    *) echo "run: there is no system $system; use brume, postgres or sqlite" >&2; exit 1 ;;
    esac
done

/usr/bin/python3 - "$work/results" <<'TABLE'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
systems = list(dict.fromkeys(row["system"] for row in rows))
for busy in (False, True):
    chosen = [row for row in rows if "kind" in row and (row["saves_per_second"] > 0) == busy]
    print("\n" + ("beside 2,000 durable saves a second" if busy else "alone") + ": p50 / p99 in microseconds, server CPU a question, rows")
    print("| question | " + " | ".join(systems) + " |\n| --- |" + " --- |" * len(systems))
    for kind in dict.fromkeys(row["kind"] for row in chosen):
        cells = []
        for system in systems:
            row = next((row for row in chosen if row["kind"] == kind and row["system"] == system), None)
            cells.append("" if row is None else f"{row['p50_us']} / {row['p99_us']}" + (f" ({row['saves_per_second']}/s)" if busy else f", {row['server_cpu_us']} µs") + f", {row['rows']:.0f}")
        print(f"| {kind} | " + " | ".join(cells) + " |")
TABLE
