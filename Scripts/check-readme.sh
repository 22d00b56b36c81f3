#!/usr/bin/env bash
# Fails when an example of README.md does not work with the debug build: its Swift compiles, and its console blocks are run, in order,
# from an empty folder. Servers that they start are ended.
#
# A line of a console block that begins with "$ " is a command; what stands below it is an example of its output and is not compared. What
# a reader does not see says what is special about the next block:
#
#   <!-- readme: skip: REASON -->         it is not run: it takes an hour, needs root, or is what runs this script
#   <!-- readme: may exit CODE: REASON -->  its commands may end with this code too
#   <!-- readme: with SED -->             its commands are changed like this before they run: shorter, mostly
#
# A command that is marked "# in another terminal" runs until the end of its block, and so does none of the others: each has a minute.
# `brume dev` and `brume serve` run to the end. The `export` lines that `brume dev` prints are taken over, as the reader is told to.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
limit_seconds=60

# Short: a socket's path is no place for a long one, and neither is an error that shows it.
work=$(mktemp -d /tmp/brume-readme-XXXXXX)
background=()
finish() {
    for pid in "${background[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${background[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$work"
}
trap finish EXIT
# Nothing that is set around it reaches the examples.
for variable in "${!BRUME_@}"; do unset "$variable"; done

fail() {
    echo "check-readme: $1" >&2
    exit 1
}

# MARK: The Swift examples

mkdir "$work/examples"
awk -v folder="$work/examples" '
    /^```swift$/ { count++; inside = 1; next }
    /^```/ { inside = 0 }
    inside { print > (folder "/example-" count ".swift") }
' README.md

built=$(swift build --show-bin-path)
flags=(-swift-version 6 -I "$built/Modules")
shopt -s nullglob
# Every C module that the package knows: those of system libraries keep their map in Sources, the built ones beside their objects.
for map in Sources/C*/module.modulemap "$built"/C*.build/module.modulemap; do
    flags+=(-Xcc "-fmodule-map-file=$map")
done
examples=("$work"/examples/example-*.swift)
[ ${#examples[@]} -gt 0 ] || fail "README.md holds no Swift example"
# The first is the program of "Five minutes", which its reader runs, and so does this script.
objects=()
for target in CloudKit BrumeKit BrumeEncryption BrumeProtocol BrumeRecord BrumeSystem BrumeModel BrumeGeodesy BrumeRandom BrumeLock CBrume CBrumeProto; do
    while IFS= read -r object; do objects+=("$object"); done < <(find "$built/$target.build" -name '*.o')
done
libraries=(-lprotobuf-c -lssl -lcrypto -lsodium -lm)
for example in "${examples[@]}"; do
    # A file named main.swift may hold statements, as the examples do.
    mkdir "${example%.swift}"
    mv "$example" "${example%.swift}/main.swift"
    output=(-typecheck)
    if [ "$example" = "$work/examples/example-1.swift" ]; then
        output=(-Onone -module-name hello -o "$work/hello" "${objects[@]}" "${libraries[@]}")
    fi
    swiftc "${flags[@]}" "${example%.swift}/main.swift" "${output[@]}" \
        || fail "the example above does not compile; mend it or what it shows"
done
echo "the ${#examples[@]} Swift examples of README.md compile"

# MARK: The console blocks

# One line a thing: "block LINE", "say DIRECTIVE", "command LINE TEXT".
awk '
    match($0, /<!-- readme: .* -->/) { said[++says] = substr($0, RSTART + 13, RLENGTH - 17); next }
    /^ *```console$/ {
        inside = 1
        print "block " NR
        for (i = 1; i <= says; i++) print "say " said[i]
        says = 0
        next
    }
    /^ *```/ { inside = 0; next }
    inside && /^ *\$ / { sub(/^ *\$ /, ""); print "command " NR " " $0 }
' README.md >"$work/script"
grep -q '^command ' "$work/script" || fail "README.md holds no console block"

mkdir -p "$work/run/.build/release" "$work/bin" "$work/backups" "$work/var/lib" "$work/home" "$work/tmp"
ln -s "$built/brume" "$work/run/.build/release/brume"
# Everything is built: the reader's build has nothing to do, and the reader's program is there.
cat >"$work/bin/swift" <<END
#!/bin/sh
case "\$1 \$2" in
"run hello") exec "$work/hello" ;;
"build -c") exit 0 ;;
esac
echo "check-readme: nobody has said what 'swift \$*' does here" >&2
exit 1
END
chmod +x "$work/bin/swift"
export PATH="$work/bin:$PATH" HOME="$work/home" TMPDIR="$work/tmp" NO_COLOR=1
cd "$work/run"

# Waits until the file has a line with the text.
wait_for() {
    local deadline=$((SECONDS + limit_seconds))
    until grep -q -- "$2" "$1"; do
        kill -0 "$3" 2>/dev/null || return 1
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.05
    done
}

commands=0
terminals=()
end_terminals() {
    for terminal in "${terminals[@]}"; do
        kill -0 "$terminal" 2>/dev/null || fail "README.md, block at line $block: what runs in another terminal ended: $(cat "$work/terminal-$terminal")"
        kill "$terminal"
        wait "$terminal" 2>/dev/null || true
    done
    terminals=()
}

# As a server or in another terminal: `$1`, with its output in `$work/output`. Sets `pid`.
start() {
    bash -c "exec $1" >"$work/output" 2>&1 </dev/null &
    pid=$!
    background+=("$pid")
}

run() {
    local line=$1 command=$2 shown=$2 status=0
    command=$(sed -E "s#/var/lib/#$work/var/lib/#g; s#/backups/#$work/backups/#g; s#0\.0\.0\.0:7440#127.0.0.1:0#g" <<<"$command")
    for change in "${changes[@]}"; do command=$(sed -E "$change" <<<"$command"); done
    commands=$((commands + 1))
    : >"$work/output"
    case "$command" in
    "brume dev"*)
        start "$command"
        wait_for "$work/output" '^# export BRUME_TOKEN' "$pid" || status=$?
        [ "$status" != 0 ] || eval "$(grep '^export ' "$work/output")"
        ;;
    "brume serve"*)
        start "$command"
        wait_for "$work/output" ' serving' "$pid" || status=$?
        ;;
    *"# in another terminal"*)
        start "$command"
        ln -f "$work/output" "$work/terminal-$pid"
        rm "$work/output"
        terminals+=("$pid")
        ;;
    *"export "*) eval "$command" >"$work/output" 2>&1 || status=$? ;;
    *) timeout -k 5 "$limit_seconds" bash -c "$command" >"$work/output" 2>&1 </dev/null || status=$? ;;
    esac
    if [ "$status" != 0 ] && [ "$status" != "$allowed" ]; then
        cat "$work/output" >&2
        fail "README.md:$line: \$ $shown
              ended with $status$([ "$status" != 124 ] || echo ": it takes longer than $limit_seconds s")"
    fi
}

block=0 skipped=0 is_skipped=0 allowed=0 changes=()
while read -r -u 3 kind rest; do
    case "$kind" in
    block)
        end_terminals
        block=$rest is_skipped=0 allowed=0 changes=()
        ;;
    say)
        case "$rest" in
        "skip: "?*) is_skipped=1 skipped=$((skipped + 1)) ;;
        "may exit "*": "?*) allowed=${rest#may exit } allowed=${allowed%%:*} ;;
        "with "?*) changes+=("${rest#with }") ;;
        *) fail "README.md, before the block at line $block: \"$rest\" is nothing that this script knows" ;;
        esac
        ;;
    command) [ "$is_skipped" = 1 ] || run "${rest%% *}" "${rest#* }" ;;
    esac
done 3<"$work/script"
end_terminals

# Servers stop in order.
for pid in "${background[@]}"; do
    kill -0 "$pid" 2>/dev/null || continue
    kill "$pid"
    wait "$pid" || fail "a server of README.md ended with $?"
done
background=()
[ "$commands" -gt 0 ] || fail "no command of README.md was run"
echo "the $commands console commands of README.md run ($skipped block(s) skipped)"
