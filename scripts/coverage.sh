#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Measures which lines and branches of the two modules the tests run, with gcovr.
#
# Usage: scripts/coverage.sh [--update] [CTEST_ARGUMENT...]
#
# Fails below 90% of lines or 75% of branches, and below what test/coverage.txt has of the last time;
# --update writes that file anew. Branches that only an exception takes are not counted. Builds without
# optimisation into build/coverage/; the report is build/coverage/report/index.html. Arguments of ctest
# choose tests (-R input), for a look at a part; then nothing is compared.
set -euo pipefail
. "$(dirname "$0")/show-help.sh"
cd "$(dirname "$0")/.."

least_lines=90
least_branches=75
update=false
if [ "${1:-}" = --update ]; then
  update=true
  shift
fi
command -v gcovr > /dev/null || { echo "coverage.sh: gcovr is not installed; expected what scripts/setup.sh installs" >&2; exit 2; }

build=build/coverage
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=None \
  -DCMAKE_CXX_FLAGS="-O0 -g1 --coverage -fprofile-abs-path -fprofile-update=atomic" \
  -DCMAKE_CXX_COMPILER_LAUNCHER=ccache > /dev/null
cmake --build $build -j "$(nproc)"
find $build -name '*.gcda' -delete
ctest --test-dir $build -j "$(nproc)" --output-on-failure "$@"

mkdir -p $build/report
gcovr --root . --object-directory $build --filter 'contrib/[^/]*/(model|helper)/' \
  --exclude-unreachable-branches --exclude-throw-branches -j "$(nproc)" \
  --html-details $build/report/index.html --json-summary $build/report/summary.json --print-summary > $build/report/summary.txt
tail -3 $build/report/summary.txt
[ $# -eq 0 ] || exit 0

of() { # lines or branches, per cent
  /usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' $build/report/summary.json "$1_percent"
}
lines=$(of line)
branches=$(of branch)
status=0
at_least() { # NAME VALUE LEAST WHY
  awk -v value="$2" -v least="$3" 'BEGIN { exit !(value + 0.05 < least) }' || return 0
  echo "coverage.sh: $2% of $1 are run; expected $3% ($4)" >&2
  status=1
}
at_least lines "$lines" $least_lines "the project's least"
at_least branches "$branches" $least_branches "the project's least"
if $update; then
  printf '# Written by scripts/coverage.sh --update: per cent of lines and of branches that the tests run.\nlines %s\nbranches %s\n' \
    "$lines" "$branches" > test/coverage.txt
elif [ -f test/coverage.txt ]; then
  at_least lines "$lines" "$(awk '$1 == "lines" { print $2 }' test/coverage.txt)" "test/coverage.txt"
  at_least branches "$branches" "$(awk '$1 == "branches" { print $2 }' test/coverage.txt)" "test/coverage.txt"
fi
exit $status
