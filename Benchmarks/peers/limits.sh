#!/usr/bin/env bash
# limits.sh [part...]: the physical limits, one process per part; JSON lines on stdout and in results/limits.jsonl
HERE=$(cd "$(dirname "$0")" && pwd)
"$HERE/setup.sh" >&2
W=${PEERBENCH_WORK:-/tmp/peerbench}
mkdir -p "$W/results"
for part in ${@:-sync tls aead pingpong spin fanout memcpy idle rtt hs}; do CERTS=$W/certs "$W/bin/limits" $part "$W" | tee -a "$W/results/limits.jsonl"; done
