#!/usr/bin/env bash
# Kills a server under saves with -9, ROUNDS times (default 100), and checks that every acknowledged save is there.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-100}
case $rounds in
    '' | *[!0-9]* | 0) echo "usage: Scripts/kill-loop.sh [ROUNDS]" >&2; exit 2 ;;
esac
KILL_ROUNDS=$rounds exec swift test --filter BrumeCommandTests.KillTests
