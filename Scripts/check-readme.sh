#!/usr/bin/env bash
# Fails when a Swift example of README.md does not compile against the debug build.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk -v folder="$work" '
    /^```swift$/ { count++; inside = 1; next }
    /^```/ { inside = 0 }
    inside { print > (folder "/example-" count ".swift") }
' README.md

built=$(swift build --show-bin-path)
flags=(-typecheck -swift-version 6 -I "$built/Modules")
shopt -s nullglob
# Every C module that the package knows: those of system libraries keep their map in Sources, the built ones beside their objects.
for map in Sources/C*/module.modulemap "$built"/C*.build/module.modulemap; do
    flags+=(-Xcc "-fmodule-map-file=$map")
done
examples=("$work"/example-*.swift)
if [ ${#examples[@]} -eq 0 ]; then
    echo "check-readme: README.md holds no Swift example" >&2
    exit 1
fi
for example in "${examples[@]}"; do
    # A file named main.swift may hold statements, as the examples do.
    mkdir "${example%.swift}"
    mv "$example" "${example%.swift}/main.swift"
    if ! swiftc "${flags[@]}" "${example%.swift}/main.swift"; then
        echo "check-readme: the example above does not compile; mend it or what it shows" >&2
        exit 1
    fi
done
echo "the ${#examples[@]} Swift example(s) of README.md compile"
