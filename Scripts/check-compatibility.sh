#!/usr/bin/env bash
# Fails when a symbol of CloudKit has gone missing from the SDK, when the page that lists them is not up to date, and
# when an app in the Swift 5 language mode does not compile without warnings. check-compatibility.sh --write writes the
# page.
set -euo pipefail
cd "$(dirname "$0")/.."

graphs=$(mktemp -d)
trap 'rm -rf "$graphs"' EXIT
Scripts/symbol-graph.sh "$graphs"
check=--check
if [ "${1:-}" = --write ]; then check=; fi
Scripts/compatibility/compare.py "$graphs" Sources/BrumeKit/BrumeKit.docc $check

if [ -n "$check" ]; then
    built=$(swift build --show-bin-path)
    shopt -s nullglob
    flags=()
    for map in Sources/C*/module.modulemap "$built"/C*.build/module.modulemap; do
        flags+=(-Xcc "-fmodule-map-file=$map")
    done
    swiftc -typecheck -swift-version 5 -warnings-as-errors -I "$built/Modules" "${flags[@]}" \
        Scripts/compatibility/Swift5Client.swift
    echo "a client in the Swift 5 language mode compiles without warnings"
fi
