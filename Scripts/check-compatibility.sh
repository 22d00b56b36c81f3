#!/usr/bin/env bash
# Fails when a symbol of CloudKit has gone missing from the SDK, or the page that lists them is not up to date.
# check-compatibility.sh --write writes the page.
set -euo pipefail
cd "$(dirname "$0")/.."

graphs=$(mktemp -d)
trap 'rm -rf "$graphs"' EXIT
Scripts/symbol-graph.sh "$graphs"
check=--check
if [ "${1:-}" = --write ]; then check=; fi
Scripts/compatibility/compare.py "$graphs" Sources/BrumeKit/BrumeKit.docc $check
