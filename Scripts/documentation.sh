#!/usr/bin/env bash
# Writes the documentation of the SDK as static pages to .build/documentation, from the debug build's symbol graph. Fails when a
# comment names what is not there.
set -euo pipefail
cd "$(dirname "$0")/.."

output=${1:-.build/documentation}
graphs=$(mktemp -d)
trap 'rm -rf "$graphs"' EXIT
Scripts/symbol-graph.sh "$graphs"
docc convert Sources/BrumeKit/BrumeKit.docc --additional-symbol-graph-dir "$graphs" --output-path "$output" \
    --fallback-display-name BrumeKit --fallback-bundle-identifier BrumeKit \
    --transform-for-static-hosting --hosting-base-path "" --warnings-as-errors
echo "open $output/documentation/brumekit/index.html through any web server"
