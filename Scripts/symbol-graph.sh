#!/usr/bin/env bash
# symbol-graph.sh FOLDER: writes the public symbols of BrumeKit to FOLDER, as the debug build has them.
set -euo pipefail
cd "$(dirname "$0")/.."

built=$(swift build --show-bin-path)
shopt -s nullglob
flags=()
for map in Sources/C*/module.modulemap "$built"/C*.build/module.modulemap; do
    flags+=(-Xcc "-fmodule-map-file=$map")
done
triple=$(swiftc -print-target-info | sed -n 's/^ *"triple": "\(.*\)",/\1/p' | head -n 1)
swift symbolgraph-extract -module-name BrumeKit -I "$built/Modules" "${flags[@]}" -target "$triple" \
    -minimum-access-level public -output-dir "$1"
