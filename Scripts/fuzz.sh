#!/usr/bin/env bash
# Fuzzes what bytes from outside reach (Fuzz/BrumeFuzz) with libFuzzer and AddressSanitizer.
#
#     Scripts/fuzz.sh [SECONDS] [TARGET…]     each target for so many seconds (default: 60, all targets)
#
# Inputs that reach new code gather in .build/fuzz-corpus and go on from there the next time. A finding fails the run when all
# targets have had their time. Its input is a file in .build/fuzz-findings, and belongs into Fuzz/Corpus once it is fixed: every
# test run feeds it again. TARGET.txt beside it says the same in text, the input in base64, and is printed: a log is enough to
# repeat it.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
shift || true
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then mapfile -t targets < <(ls Fuzz/Corpus); fi

export BRUME_FUZZ=1
build=(swift build -c release --sanitize fuzzer --sanitize address -Xswiftc -sanitize=fuzzer,address --scratch-path .build/fuzz --product FuzzRunner)
"${build[@]}"
runner=$("${build[@]}" --show-bin-path)/FuzzRunner

# Swift's own report of a crash would end the process before libFuzzer has kept the input.
export SWIFT_BACKTRACE=enable=no
mkdir -p .build/fuzz-findings
failed=()
for target in "${targets[@]}"; do
    echo "== $target: $seconds s"
    mkdir -p ".build/fuzz-corpus/$target"
    log=.build/fuzz-$target.log
    started=$(mktemp)
    status=0
    BRUME_FUZZ_TARGET=$target "$runner" ".build/fuzz-corpus/$target" "Fuzz/Corpus/$target" \
        -max_total_time="$seconds" -timeout=5 -rss_limit_mb=1024 -max_len=16384 -print_final_stats=1 \
        -artifact_prefix=".build/fuzz-findings/$target-" >"$log" 2>&1 || status=$?
    grep -E 'DONE|ERROR|SUMMARY|Test unit written|number_of_executed_units|peak_rss_mb' "$log" || true
    if [ "$status" -ne 0 ]; then
        failed+=("$target")
        report=.build/fuzz-findings/$target.txt
        {
            echo "target $target ended with exit code $status"
            tail -n 60 "$log"
            while IFS= read -r input; do
                echo "input $input in base64:"
                base64 "$input"
            done < <(find .build/fuzz-findings -name "$target-*" -newer "$started" | sort)
        } >"$report"
        cat "$report" >&2
    fi
    rm -f "$started"
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "fuzz: findings in: ${failed[*]}; .build/fuzz-findings has them" >&2
    exit 1
fi
