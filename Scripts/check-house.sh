#!/usr/bin/env bash
# Fails when the sources break the house plan (CONTRIBUTING.md) where the compiler does not see it: doors to C, access levels. The arrows
# between targets are Package.swift's, and the build fails when an import goes another way (DEBUG_FLAGS in the Makefile).
set -euo pipefail
cd "$(dirname "$0")/.."

failures=0
broken() { # broken SENTENCE LINES: says what is wrong and where
    echo "check-house: $1" >&2
    sed 's/^/    /' <<<"$2" >&2
    failures=$((failures + 1))
}
search() { # search PATTERN FOLDER…: matching lines of Swift files, none is fine
    local pattern=$1
    shift
    grep -rnE --include='*.swift' "$pattern" "$@" || true
}
forbid() { # forbid SENTENCE PATTERN FOLDER…
    local sentence=$1 lines
    shift
    lines=$(search "$@")
    if [ -n "$lines" ]; then broken "$sentence" "$lines"; fi
}

# An import, with whatever attributes and access level stand before it.
import_of() { echo "^[[:space:]]*(@[A-Za-z_]+(\([^)]*\))?[[:space:]]+)*((public|package|internal|fileprivate|private)[[:space:]]+)?import[[:space:]]+((struct|class|enum|protocol|func|var|let|typealias)[[:space:]]+)?($1)([[:space:].]|\$)"; }

below_kit=(Sources/BrumeLock Sources/BrumeRandom Sources/BrumeModel Sources/BrumeGeodesy Sources/BrumeEncryption Sources/BrumeRecord Sources/BrumeProtocol Sources/BrumeStore Sources/BrumeSystem Sources/BrumeHTTP Sources/BrumeService Sources/BrumeServer)
forbid "Foundation stays out of everything below BrumeKit" "$(import_of 'Foundation[A-Za-z]*')" "${below_kit[@]}"
forbid "the C library is for BrumeSystem and BrumeServer; below them there is no I/O" \
    "$(import_of 'Glibc|Musl|Darwin')" Sources/BrumeRandom Sources/BrumeModel Sources/BrumeGeodesy Sources/BrumeEncryption Sources/BrumeRecord Sources/BrumeProtocol Sources/BrumeStore Sources/BrumeService
forbid "the service knows no files" \
    '\b(FileSystem|RealDisk|any Disk|DiskError|Recovery|JournalWriter|SnapshotWriter|FolderManifest)\b' Sources/BrumeService
forbid "the service knows no sockets" \
    '\b(ConnectionLimits|ConnectionAdmission|Listener|LocalListener|TLS[A-Z][A-Za-z]*|PeerConnection)\b' Sources/BrumeService
forbid "time is an argument of the store; it must not read a clock" \
    'ContinuousClock|SuspendingClock|clock_gettime|gettimeofday' Sources/BrumeStore

forbid "a lock is BrumeLock's Lock: the thread sanitizer can't see through the standard library's Mutex" \
    '\bMutex[<(]' $(ls -d Sources/*/ | grep -v '^Sources/BrumeLock/') Tests

unseen=$(grep -rlE --include='*.swift' '\.withLock\b' Sources Tests | xargs grep -lE "$(import_of Synchronization)" |
    xargs grep -LE "$(import_of BrumeLock)" || true)
if [ -n "$unseen" ]; then broken "a file that locks imports BrumeLock: the thread sanitizer's build has its lock there" "$unseen"; fi

outside_tls=$(search "$(import_of COpenSSL)" Sources | grep -v '^Sources/BrumeSystem/TLS/' || true)
if [ -n "$outside_tls" ]; then broken "OpenSSL is imported in Sources/BrumeSystem/TLS only" "$outside_tls"; fi

outside_sodium=$(search "$(import_of CSodium)" Sources | grep -v '^Sources/BrumeEncryption/Sodium/' || true)
if [ -n "$outside_sodium" ]; then broken "libsodium is imported in Sources/BrumeEncryption/Sodium only" "$outside_sodium"; fi

zstd_files=$(grep -rlE --include='*.swift' "$(import_of CZstd)" Sources || true)
if [ "$(grep -c . <<<"$zstd_files")" -gt 1 ]; then broken "zstd is imported in one file only" "$zstd_files"; fi

for library in ICU:CICU libm:CLibm libmicrohttpd:CMicrohttpd; do
    files=$(grep -rlE --include='*.swift' "$(import_of "${library#*:}")" Sources || true)
    if [ "$(grep -c . <<<"$files")" -gt 1 ]; then broken "${library%:*} is imported in one file only" "$files"; fi
done

in_store=$(search "$(import_of CBrume)" Sources/BrumeStore | grep -v '^Sources/BrumeStore/Disk/CRC32C.swift:' || true)
if [ -n "$in_store" ]; then broken "the store imports CBrume for its checksum only" "$in_store"; fi

outside_coding=$(search "$(import_of CBrumeProto)" Sources/BrumeStore | grep -v '^Sources/BrumeStore/Coding/' || true)
if [ -n "$outside_coding" ]; then broken "the store imports CBrumeProto in Coding only" "$outside_coding"; fi

behind_door=$(search "$(import_of 'BrumeProtocol|CBrumeProto')" Sources/BrumeServer |
    grep -vE '^Sources/BrumeServer/(Sessions/|ServerConfiguration.swift:)' || true)
if [ -n "$behind_door" ]; then broken "in the server only the door knows frames and messages" "$behind_door"; fi

epoll_files=$(grep -rlE --include='*.swift' '\bepoll_(create1?|ctl|wait|pwait2?)\(' Sources || true)
if [ "$(grep -c . <<<"$epoll_files")" -gt 1 ]; then broken "epoll is called in one file only" "$epoll_files"; fi

forbid "write the access level on every import (internal import …)" \
    '^[[:space:]]*(@[A-Za-z_]+(\([^)]*\))?[[:space:]]+)*import[[:space:]]' Sources
# BrumeLock hands on the module that its lock is of, which only a public import can.
not_public=()
for folder in Sources/*/; do
    case $folder in Sources/BrumeKit/ | Sources/CloudKit/ | Sources/BrumeTesting/ | Sources/BrumeLock/) ;; *) not_public+=("$folder") ;; esac
done
forbid "public is for BrumeKit, CloudKit and BrumeTesting; between modules write package" \
    '^[[:space:]]*(@[A-Za-z_]+(\([^)]*\))?[[:space:]]+)*(public|open)[[:space:]]' "${not_public[@]}"
forbid "start programs with BrumeSystem's ChildProcess: Foundation's Process reads past the end of its memory on Linux" \
    '(^|[^.A-Za-z])Process(\.[a-z]|\(|\?? *=)|Foundation\.Process\b|launchedProcess' Sources Tests Examples Fuzz Benchmarks
# swift-format wraps code; comments it leaves as they are. A table's row has no other form.
wide=$(LC_ALL=C.UTF-8 search '^.{121,}$' Package.swift Sources Tests Examples Fuzz Benchmarks |
    grep -E '^[^:]*:[0-9]+: *//' | grep -vE '^[^:]*:[0-9]+: */// \|' || true)
if [ -n "$wide" ]; then broken "a comment's line has 120 columns at most" "$wide"; fi
forbid "what is not built is absent: no notes about work to come in the code" '\b(TODO|FIXME)\b' Sources Tests

if [ "$failures" -gt 0 ]; then
    echo "check-house: $failures rule(s) broken" >&2
    exit 1
fi
echo "the house plan holds"
