#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Has libFuzzer (clang) search for inputs that break a reader, starting from test/fuzz/corpus, with
# address and undefined-behaviour sanitizers.
#
# Usage: scripts/maintain/fuzz.sh [SECONDS] [TARGET...]
#
# SECONDS for each target (60); without targets all of them, which test/fuzz/fuzz-targets.cc lists. What
# breaks a reader stays in build/fuzz/TARGET/; put it into test/fuzz/corpus/TARGET once it is mended, and
# test-fuzz keeps it so.
set -euo pipefail
cd "$(dirname "$0")/../.."

usage() {
  sed -n '4,12s/^# \{0,1\}//p' "$0"
}

seconds=60
case ${1:-} in
  -h | --help) usage; exit 0 ;;
  [1-9]*) seconds=$1; shift ;;
esac
all=$(sed -n 's/^ *FuzzTarget{"\([a-z-]*\)".*/\1/p' test/fuzz/fuzz-targets.cc)
targets=${*:-$all}
for target in $targets; do
  if ! grep -qx -- "$target" <<< "$all"; then
    echo "fuzz.sh: '$target' is not a target; expected some of: $(echo $all)" >&2
    exit 2
  fi
done
command -v clang++ > /dev/null || { echo "fuzz.sh: clang++ is not installed; expected what scripts/setup.sh --develop installs" >&2; exit 2; }

build=build/fuzz
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER=clang++ \
  -DCMAKE_CXX_FLAGS="-O1 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined" > /dev/null
cmake --build $build --target fuzz-targets
status=0
for target in $targets; do
  echo "== $target"
  work=$build/$target
  mkdir -p "$work/found"
  dictionary=()
  [ -f "test/fuzz/dictionaries/$target" ] && dictionary=("-dict=test/fuzz/dictionaries/$target")
  "$build/bin/fuzz-$target" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=4096 \
    -print_final_stats=1 -artifact_prefix="$work/" "${dictionary[@]}" "$work/found" "test/fuzz/corpus/$target" \
    > "$work/log.txt" 2>&1 || { status=1; echo "broken: see $work/log.txt and what lies beside it"; }
  sed -n 's/^stat::number_of_executed_units: */  inputs tried: /p' "$work/log.txt"
done
exit $status
