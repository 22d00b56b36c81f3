#!/usr/bin/env bash
# Generates Sources/CBrumeProto from proto/. With --check: fails when what is checked in differs.
set -euo pipefail
cd "$(dirname "$0")/.."

target=Sources/CBrumeProto
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

(cd proto && find brume -name '*.proto' | LC_ALL=C sort | xargs protoc-c -I. -I/usr/include --c_out="$work")

mkdir -p "$work/out/include"
for source in $(cd "$work" && find brume -name '*.pb-c.c' | LC_ALL=C sort); do
    flat=$(echo "${source#brume/}" | tr / -)
    sed -E 's|#include "brume/([a-z]+)/v1/|#include "\1-v1-|; s|#include "brume/v1/|#include "v1-|' "$work/$source" >"$work/out/$flat"
    sed -E 's|#include "brume/([a-z]+)/v1/|#include "\1-v1-|; s|#include "brume/v1/|#include "v1-|; /protobuf-c\/protobuf-c.pb-c.h/d' \
        "$work/${source%.c}.h" >"$work/out/include/${flat%.c}.h"
done
{
    echo '#pragma once'
    echo '// All messages of Brume, generated from proto/ by Scripts/generate-proto.sh.'
    for header in $(cd "$work/out/include" && ls *.pb-c.h | LC_ALL=C sort); do echo "#include \"$header\""; done
} >"$work/out/include/CBrumeProto.h"

if [ "${1:-}" = --check ]; then
    diff -r "$work/out" "$target" && echo "generated C is up to date"
else
    rm -rf "$target"
    cp -r "$work/out" "$target"
fi
